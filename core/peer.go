package core

import (
	"net/netip"
	"strings"
)

// ParsePeer turns an "address:port" as net/http gives it (Request.RemoteAddr)
// into the peer's address; the port may be missing and is not looked at. What is
// no address (a unix socket's "@", "") is the invalid Addr.
func ParsePeer(s string) netip.Addr {
	if a, ok := parsePeer4(s); ok {
		return a
	}
	if strings.HasPrefix(s, "[") {
		s, _, _ = strings.Cut(s[1:], "]")
	} else if i := strings.LastIndexByte(s, ':'); i == strings.IndexByte(s, ':') && i >= 0 {
		s = s[:i]
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return a
}

// parsePeer4 is the usual case, an IPv4 address and a port, in one pass. What it
// does not know it leaves to ParseAddr.
func parsePeer4(s string) (netip.Addr, bool) {
	var b [4]byte
	for i, end := range [4]byte{'.', '.', '.', ':'} {
		n := 0 // digits
		value := uint(0)
		for n < len(s) && s[n]-'0' <= 9 && n < 3 {
			value = value*10 + uint(s[n]-'0')
			n++
		}
		if n == 0 || n == len(s) || s[n] != end || value > 255 || n > 1 && s[0] == '0' {
			return netip.Addr{}, false
		}
		b[i], s = byte(value), s[n+1:]
	}
	return netip.AddrFrom4(b), true
}
