package core

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParsePeer(t *testing.T) {
	for s, want := range map[string]string{
		"192.0.2.1:4711": "192.0.2.1", "192.0.2.1": "192.0.2.1", "0.0.0.0:1": "0.0.0.0", "255.255.255.255:65535": "255.255.255.255",
		"[2001:db8::1]:443": "2001:db8::1", "2001:db8::1": "2001:db8::1", "[fe80::1%eth0]:9": "fe80::1%eth0", "[::ffff:192.0.2.1]:9": "::ffff:192.0.2.1",
		"": "", "@": "", "x": "", ":80": "", "1.2.3:4": "", "1.2.3.4.5:6": "", "256.1.1.1:1": "", "01.2.3.4:5": "", "1..2.3:4": "", "1.2.3.:4": "", "[": "", "1.2.3.4x:5": "",
	} {
		if got := ParsePeer(s); got.IsValid() != (want != "") || want != "" && got.String() != want {
			t.Errorf("%q: %v, want %q", s, got, want)
		}
	}
}

// The quick way for IPv4 knows nothing that netip does not.
func FuzzParsePeer(f *testing.F) {
	f.Add("192.0.2.1:4711")
	f.Add("1.2.3.04:5")
	f.Fuzz(func(t *testing.T, s string) {
		a, ok := parsePeer4(s)
		if !ok {
			return
		}
		host, _, _ := strings.Cut(s, ":")
		if want, err := netip.ParseAddr(host); err != nil || a != want {
			t.Errorf("%q: %v, netip says %v, %v", s, a, want, err)
		}
	})
}
