package core

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"net/netip"
)

// An ipCut cuts a client's address to the prefix that is counted as one client.
// It is immutable; make it with newIPCut.
//
// The usual lengths are 32 for IPv4 and 64 for IPv6: a subscriber gets a /64 at
// least and takes any address in it for free. Some get a /56 or a /48: counting
// those as one is worth it only where neighbours may share a counter. The same
// goes for 6to4 (2002::/16, out of use), where every IPv4 address owns a /48.
type ipCut struct{ v4, v6 int }

// nat64 holds the IPv4 addresses that a translator shows to an IPv6 host (RFC
// 6052): all of them lie within one /64, so they are counted as what they are.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// newIPCut takes prefix lengths in bits, 0 for the usual ones. Lengths below 8
// and 32 are refused: they put whole providers into one counter.
func newIPCut(v4, v6 int) (ipCut, error) {
	c := ipCut{v4: 32, v6: 64}
	var errs []error
	if v4 != 0 {
		c.v4 = v4
	}
	if v6 != 0 {
		c.v6 = v6
	}
	if c.v4 < 8 || c.v4 > 32 {
		errs = append(errs, fmt.Errorf("stint: IPv4 prefix of %d bits; write 8 to 32, or 0 for 32", v4))
	}
	if c.v6 < 32 || c.v6 > 128 {
		errs = append(errs, fmt.Errorf("stint: IPv6 prefix of %d bits; write 32 to 128, or 0 for 64", v6))
	}
	return c, errors.Join(errs...)
}

// prefix is the part of the address that is counted: without zone, never
// v4-mapped, masked. An invalid address gives an invalid prefix.
func (c ipCut) prefix(a netip.Addr) netip.Prefix {
	a = normalAddr(a)
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	bits := c.v6
	if a.Is4() {
		bits = c.v4
	}
	return netip.PrefixFrom(a, bits).Masked()
}

// key makes k, which is zero, the key of the prefix of a valid address that is
// normal. The zero ipCut cuts as usual.
func (c ipCut) key(a netip.Addr, k *Key) {
	if c.keeps(a) {
		k.kind, k.bits, k.v4, k.lo = KindIP, 32, true, word4(a)
		return
	}
	p := cmp.Or(c, ipCut{32, 64}).prefix(a)
	*k = keyOfMasked(p.Addr(), p.Bits())
}

// print is the Print of what key makes. Nearly always it comes to that without a
// key, whose nine words would be written and read again.
func (c ipCut) print(a netip.Addr, seeds *[2]maphash.Seed) Print {
	if c.keeps(a) {
		return printAddr(0, word4(a), 32, true, seeds)
	}
	var k Key
	c.key(a, &k)
	return k.Print(seeds)
}

// keeps reports whether there is nothing to cut from an IPv4 address.
func (c ipCut) keeps(a netip.Addr) bool { return a.Is4() && (c.v4 == 32 || c.v4 == 0) }

// word4 is Key.lo of an IPv4 address.
func word4(a netip.Addr) uint64 {
	b := a.As4()
	return 0xffff<<32 | uint64(binary.BigEndian.Uint32(b[:]))
}
