package core

import (
	"net/netip"
	"testing"
)

func TestIPPrefix(t *testing.T) {
	for _, tt := range []struct {
		v4, v6     int
		addr, want string
	}{
		{0, 0, "1.2.3.4", "1.2.3.4/32"},
		{0, 0, "::ffff:1.2.3.4", "1.2.3.4/32"},
		{0, 0, "::ffff:102:304", "1.2.3.4/32"},
		{0, 0, "::ffff:1.2.3.4%eth0", "1.2.3.4/32"},
		{0, 0, "::ffff:8.8.8.8", "8.8.8.8/32"},
		{0, 0, "2001:db8::1.2.3.4", "2001:db8::/64"},
		{0, 0, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		{0, 0, "fe80::1%lo", "fe80::/64"},
		{0, 0, "64:ff9b::1.2.3.4", "1.2.3.4/32"},
		{0, 0, "64:ff9b::8.8.8.8", "8.8.8.8/32"},
		{0, 0, "64:ff9b:0:0:0:1:102:304", "64:ff9b::/64"}, // not the well-known prefix
		{0, 0, "64:ff9b:1::1.2.3.4", "64:ff9b:1::/64"},    // RFC 8215: where the address lies is local
		{0, 0, "2002:102:304::1", "2002:102:304::/64"},
		{24, 48, "1.2.3.4", "1.2.3.0/24"},
		{24, 48, "64:ff9b::1.2.3.4", "1.2.3.0/24"},
		{24, 48, "2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"},
		{8, 32, "1.2.3.4", "1.0.0.0/8"},
		{8, 32, "2001:db8:1::", "2001:db8::/32"},
		{32, 128, "2001:db8::1", "2001:db8::1/128"},
	} {
		c, err := newIPCut(tt.v4, tt.v6)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := c.prefix(netip.MustParseAddr(tt.addr)), netip.MustParsePrefix(tt.want); got != want {
			t.Errorf("/%d, /%d: %s is cut to %v, want %v", tt.v4, tt.v6, tt.addr, got, want)
		}
	}
	c, _ := newIPCut(0, 0)
	if got := c.prefix(netip.Addr{}); got != (netip.Prefix{}) {
		t.Errorf("no address is cut to %#v", got)
	}
}

func TestAllOfOneSlash64IsOneClient(t *testing.T) {
	c, _ := newIPCut(0, 0)
	want := netip.MustParsePrefix("2001:db8:0:7::/64")
	a := want.Addr().As16()
	for i := range 1 << 16 {
		a[8+i%8], a[15] = byte(i>>8), byte(i)
		if got := c.prefix(netip.AddrFrom16(a)); got != want {
			t.Fatalf("%v is cut to %v", netip.AddrFrom16(a), got)
		}
	}
}

func TestIPPrefixOutOfRange(t *testing.T) {
	for _, tt := range []struct {
		v4, v6 int
		want   string
	}{
		{64, 24, "stint: IPv4 prefix of 64 bits; write 8 to 32, or 0 for 32\nstint: IPv6 prefix of 24 bits; write 32 to 128, or 0 for 64"},
		{7, 31, "stint: IPv4 prefix of 7 bits; write 8 to 32, or 0 for 32\nstint: IPv6 prefix of 31 bits; write 32 to 128, or 0 for 64"},
		{-1, 64, "stint: IPv4 prefix of -1 bits; write 8 to 32, or 0 for 32"},
		{33, 0, "stint: IPv4 prefix of 33 bits; write 8 to 32, or 0 for 32"},
		{0, 129, "stint: IPv6 prefix of 129 bits; write 32 to 128, or 0 for 64"},
	} {
		if _, err := newIPCut(tt.v4, tt.v6); err == nil || err.Error() != tt.want {
			t.Errorf("/%d, /%d: got %v, want %s", tt.v4, tt.v6, err, tt.want)
		}
	}
}

// The print of an address is that of its key, however it is cut.
func TestPrintOfAnAddressIsThatOfItsKey(t *testing.T) {
	for _, cut := range []ipCut{{}, {32, 64}, {24, 48}, {8, 128}} {
		for _, text := range []string{"0.0.0.0", "1.2.3.4", "255.255.255.255", "::1", "2001:db8:1:2:3:4:5:6", "64:ff9b::102:304"} {
			var k Key
			a := normalAddr(netip.MustParseAddr(text))
			cut.key(a, &k)
			if got, want := cut.print(a, &testSeeds), k.Print(&testSeeds); got != want {
				t.Errorf("%+v, %s: %x, of its key %x", cut, text, got, want)
			}
		}
	}
}
