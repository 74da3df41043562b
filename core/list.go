package core

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
)

// A List is a set of client addresses and of keys, for Config.AllowList and
// Config.DenyList. It can be changed while the program runs: each change takes
// effect as a whole, and looking something up takes no lock. The zero value is
// an empty list, ready to use; it is safe for concurrent use and must not be
// copied.
type List struct {
	change  sync.Mutex // one change after the other
	current atomic.Pointer[listed]
}

// Entries are what a List holds, or what is put into it and taken out of it.
type Entries struct {
	// Prefixes are of client addresses; one address is a prefix of all its bits.
	// v4-mapped ones are the IPv4 ones.
	Prefixes []netip.Prefix
	// Keys are identities as a policy's source makes them, before Hooks.KeyExtra:
	// KeyOf(KindUser, "", "bob"), KeyOf(KindHeader, "X-Api-Key", "…").
	Keys []Key
}

// listed is the content of a List. It never changes.
type listed struct {
	prefixes   []flatPrefix // all, sorted
	top4, top6 []flatPrefix // those that lie within no other, of IPv4 and of IPv6
	keys       map[Key]struct{}
}

// Replace makes e all that the list holds. Where a prefix is not valid the list
// stays as it was, and the error names all such prefixes.
func (l *List) Replace(e Entries) error {
	return l.update(e, func(_ *listed, prefixes []flatPrefix, keys map[Key]struct{}) *listed {
		return &listed{prefixes: prefixes, keys: keys}
	})
}

// Add puts e into the list, in time proportional to all that the list holds.
// Errors are those of Replace.
func (l *List) Add(e Entries) error {
	return l.update(e, func(old *listed, prefixes []flatPrefix, keys map[Key]struct{}) *listed {
		maps.Copy(keys, old.keys)
		return &listed{prefixes: append(prefixes, old.prefixes...), keys: keys}
	})
}

// Remove takes e out of the list, in time proportional to all that the list
// holds. Only the very prefixes that were put in can be taken out, not a part of
// one. Errors are those of Replace.
func (l *List) Remove(e Entries) error {
	return l.update(e, func(old *listed, prefixes []flatPrefix, keys map[Key]struct{}) *listed {
		gone := make(map[flatPrefix]bool, len(prefixes))
		for _, p := range prefixes {
			gone[p] = true
		}
		left := &listed{keys: maps.Clone(old.keys)}
		for _, p := range old.prefixes {
			if !gone[p] {
				left.prefixes = append(left.prefixes, p)
			}
		}
		for k := range keys {
			delete(left.keys, k)
		}
		return left
	})
}

// update replaces the content by what change makes of it and of e.
func (l *List) update(e Entries, change func(old *listed, prefixes []flatPrefix, keys map[Key]struct{}) *listed) error {
	prefixes, err := flatten(e.Prefixes)
	if err != nil {
		return err
	}
	keys := make(map[Key]struct{}, len(e.Keys))
	for _, k := range e.Keys {
		keys[k.Clone()] = struct{}{}
	}
	l.change.Lock()
	defer l.change.Unlock()
	old := l.current.Load()
	if old == nil {
		old = new(listed)
	}
	next := change(old, prefixes, keys)
	slices.SortFunc(next.prefixes, flatPrefix.compare)
	next.prefixes = slices.Compact(next.prefixes)
	for _, p := range next.prefixes { // two prefixes overlap only where one holds the other
		top := &next.top6
		if p.bits >= 96 && p.is4() {
			top = &next.top4
		}
		if n := len(*top); n == 0 || !(*top)[n-1].contains(p.flatAddr) {
			*top = append(*top, p)
		}
	}
	l.current.Store(next)
	return nil
}

// Contains reports whether the address lies within one of the prefixes, its zone
// aside. An IPv4 address is found in each of its IPv6 forms (mapped, NAT64).
func (l *List) Contains(a netip.Addr) bool {
	c := l.current.Load()
	if c == nil || !a.IsValid() {
		return false
	}
	return c.contains(flatAddrOf(a))
}

// ContainsKey reports whether the key is one of the keys.
func (l *List) ContainsKey(k Key) bool {
	c := l.current.Load()
	if c == nil || len(c.keys) == 0 {
		return false
	}
	_, found := c.keys[k]
	return found
}

// Len is how many prefixes and keys the list holds.
func (l *List) Len() int {
	c := l.current.Load()
	if c == nil {
		return 0
	}
	return len(c.prefixes) + len(c.keys)
}

// contains looks for the last prefix that begins at a or before: no two of a
// top overlap, so only that one can hold a. IPv6 prefixes hold no IPv4 address.
func (c *listed) contains(a flatAddr) bool {
	top := c.top6
	if a.is4() {
		top = c.top4
	}
	low, high := 0, len(top)
	for low < high {
		if mid := int(uint(low+high) >> 1); a.less(top[mid].flatAddr) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low > 0 && top[low-1].contains(a)
}

// A flatAddr is an address as 128 bits, IPv4 as v4-mapped: without the pointer
// that a netip.Addr has, which the collector would follow a hundred thousand
// times.
type flatAddr struct{ hi, lo uint64 }

// A flatPrefix is a prefix of 0 to 128 bits.
type flatPrefix struct {
	flatAddr
	bits uint8
}

func (a flatAddr) is4() bool { return a.hi == 0 && a.lo>>32 == 0xffff }

func (a flatAddr) less(b flatAddr) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

// contains reports whether the first bits of p and a are the same.
func (p flatPrefix) contains(a flatAddr) bool {
	if p.bits <= 64 {
		return (p.hi^a.hi)>>(64-p.bits) == 0
	}
	return p.hi == a.hi && (p.lo^a.lo)>>(128-p.bits) == 0
}

// compare sorts by address, and the prefix before what lies within it.
func (p flatPrefix) compare(q flatPrefix) int {
	return cmp.Or(cmp.Compare(p.hi, q.hi), cmp.Compare(p.lo, q.lo), cmp.Compare(p.bits, q.bits))
}

// flatAddrOf is a valid address, an IPv4 one in whatever form as v4-mapped.
func flatAddrOf(a netip.Addr) flatAddr {
	f := flatAddrAsItIs(a)
	if nat64.Contains(a.WithZone("")) {
		f = flatAddr{0, 0xffff<<32 | f.lo&(1<<32-1)}
	}
	return f
}

func flatAddrAsItIs(a netip.Addr) flatAddr {
	b := a.As16()
	return flatAddr{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// flatPrefixOf is a valid prefix, unmapped: of IPv4 in whatever form, or of IPv6.
func flatPrefixOf(p netip.Prefix) (flatPrefix, error) {
	a, bits := p.Masked().Addr(), p.Bits()
	switch {
	case a.Is4():
		return flatPrefix{flatAddrAsItIs(a), uint8(bits + 96)}, nil
	case p.Masked() == nat64:
		return flatPrefix{}, fmt.Errorf("%v is all of IPv4, as a translator shows it: if that is meant, write 0.0.0.0/0", p)
	case bits > nat64.Bits():
		return flatPrefix{flatAddrOf(a), uint8(bits)}, nil
	}
	return flatPrefix{flatAddrAsItIs(a), uint8(bits)}, nil
}

func flatten(prefixes []netip.Prefix) (flat []flatPrefix, err error) {
	var errs []error
	flat = make([]flatPrefix, 0, len(prefixes))
	for i, p := range prefixes {
		p, err := proxyPrefix(p)
		var f flatPrefix
		if err == nil {
			f, err = flatPrefixOf(p)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("stint: prefix %d of %d: %w", i+1, len(prefixes), err))
			continue
		}
		flat = append(flat, f)
	}
	return flat, errors.Join(errs...)
}
