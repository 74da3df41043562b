package core

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// A list finds what netip finds in the same prefixes, one by one.
func TestListFindsWhatItHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var prefixes []netip.Prefix
		for range rng.IntN(30) {
			prefixes = append(prefixes, randomPrefix(rng))
		}
		var l List
		if err := l.Replace(Entries{Prefixes: prefixes}); err != nil {
			t.Fatal(err)
		}
		for range 300 {
			a := randomAddr(rng)
			if len(prefixes) > 0 && rng.IntN(2) == 0 { // one that lies within, or just beside
				p := prefixes[rng.IntN(len(prefixes))].Masked().Addr()
				a = []netip.Addr{p, p.Next(), p.Prev()}[rng.IntN(3)]
			}
			want := false
			for _, p := range prefixes {
				want = want || p.Contains(a)
			}
			if got := l.Contains(a); got != want {
				t.Fatalf("%v in %v: %v", a, prefixes, got)
			}
		}
	}
}

// Addresses of few bits, so that prefixes nest and meet.
func randomAddr(rng *rand.Rand) netip.Addr {
	var b [16]byte
	for i := range b {
		b[i] = []byte{0, 1, 0x80, 0xff}[rng.IntN(4)]
	}
	if rng.IntN(2) == 0 {
		return netip.AddrFrom4([4]byte(b[:4]))
	}
	b[0] |= 0x20 // neither mapped nor NAT64
	return netip.AddrFrom16(b)
}

func randomPrefix(rng *rand.Rand) netip.Prefix {
	a := randomAddr(rng)
	return netip.PrefixFrom(a, rng.IntN(a.BitLen()+1))
}

// What is put in and taken out again leaves what was there before, prefixes
// within others included.
func TestListChanges(t *testing.T) {
	var l List
	wide, narrow := netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("10.1.0.0/16")
	bob := KeyOf(KindUser, "", "bob")
	inside, beside := netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("10.2.0.1")
	check := func(inIs, besideIs, bobIs bool, n int) {
		t.Helper()
		if l.Contains(inside) != inIs || l.Contains(beside) != besideIs || l.ContainsKey(bob) != bobIs || l.Len() != n {
			t.Errorf("%v %v %v, %d entries", l.Contains(inside), l.Contains(beside), l.ContainsKey(bob), l.Len())
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(false, false, false, 0)
	do(l.Remove(Entries{Prefixes: []netip.Prefix{wide}, Keys: []Key{bob}}))
	check(false, false, false, 0)
	do(l.Add(Entries{Prefixes: []netip.Prefix{narrow}, Keys: []Key{bob}}))
	do(l.Add(Entries{Prefixes: []netip.Prefix{wide, wide, narrow}, Keys: []Key{bob}}))
	check(true, true, true, 3)
	do(l.Remove(Entries{Prefixes: []netip.Prefix{wide}}))
	check(true, false, true, 2)
	do(l.Remove(Entries{Keys: []Key{bob}}))
	check(true, false, false, 1)
	do(l.Replace(Entries{Prefixes: []netip.Prefix{wide}}))
	check(true, true, false, 1)
	do(l.Replace(Entries{}))
	check(false, false, false, 0)
}

// IPv4 is the same address in whatever form it comes.
func TestListKnowsTheFormsOfIPv4(t *testing.T) {
	var l List
	if err := l.Replace(Entries{Prefixes: []netip.Prefix{netip.MustParsePrefix("::ffff:192.0.2.0/120"), netip.MustParsePrefix("2001:db8::/32")}}); err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]bool{
		"192.0.2.9": true, "::ffff:192.0.2.9": true, "64:ff9b::192.0.2.9": true, "::ffff:192.0.2.9%eth0": true, "64:ff9b::192.0.2.9%eth0": true,
		"192.0.3.9": false, "64:ff9b::192.0.3.9": false, "2001:db8::1": true, "2001:db9::1": false, "::": false,
	} {
		if got := l.Contains(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
	if l.Contains(netip.Addr{}) {
		t.Error("no address is found")
	}
}

// A prefix around the addresses of NAT64 is one of IPv6, and no more than that.
func TestListOfPrefixesAroundNAT64(t *testing.T) {
	for _, tc := range []struct{ prefix, in, out string }{
		{"64:ff9b::192.0.2.0/120", "192.0.2.1", "192.0.3.1"},
		{"64:ff9b::/64", "64:ff9b::1:0:0:1", "::1"},
		{"64:ff9b::/32", "64:ff9b:1::", "::ffff:0:0:1"},
	} {
		var l List
		if err := l.Replace(Entries{Prefixes: []netip.Prefix{netip.MustParsePrefix(tc.prefix)}}); err != nil {
			t.Fatal(err)
		}
		if !l.Contains(netip.MustParseAddr(tc.in)) || l.Contains(netip.MustParseAddr(tc.out)) {
			t.Errorf("%s: %s %v, %s %v", tc.prefix, tc.in, l.Contains(netip.MustParseAddr(tc.in)), tc.out, l.Contains(netip.MustParseAddr(tc.out)))
		}
	}
	var l List
	err := l.Replace(Entries{Prefixes: []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96")}})
	if err == nil || !strings.Contains(err.Error(), "0.0.0.0/0") || l.Contains(netip.MustParseAddr("192.0.2.1")) {
		t.Errorf("all of IPv4 by another name: %v", err)
	}
}

// A change with a bad prefix changes nothing, and names each bad one.
func TestListRefusesBadPrefixes(t *testing.T) {
	var l List
	good := netip.MustParsePrefix("192.0.2.0/24")
	if err := l.Add(Entries{Prefixes: []netip.Prefix{good}}); err != nil {
		t.Fatal(err)
	}
	bad := Entries{Prefixes: []netip.Prefix{{}, good, netip.MustParsePrefix("::ffff:0.0.0.0/90")}}
	for _, err := range []error{l.Add(bad), l.Replace(bad), l.Remove(bad)} {
		if err == nil || !strings.Contains(err.Error(), "prefix 1 of 3") || !strings.Contains(err.Error(), "prefix 3 of 3") {
			t.Errorf("%v", err)
		}
	}
	if l.Len() != 1 || !l.Contains(good.Addr()) {
		t.Error("the list has changed")
	}
}

// A key that refers to a request's memory is kept as it was.
func TestListKeepsNoMemoryOfARequest(t *testing.T) {
	var l List
	memory := []byte("bob")
	if err := l.Add(Entries{Keys: []Key{KeyOf(KindUser, "", unsafe.String(&memory[0], len(memory)))}}); err != nil {
		t.Fatal(err)
	}
	copy(memory, "eve")
	if !l.ContainsKey(KeyOf(KindUser, "", "bob")) || l.ContainsKey(KeyOf(KindUser, "", "eve")) {
		t.Error("the list has changed with the request")
	}
}

// Changes and lookups at the same time: a lookup sees a change as a whole.
func TestListChangesAtOnce(t *testing.T) {
	var l List
	one, two := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.2/32")
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for i := range 2000 {
			if err := l.Replace(Entries{Prefixes: [][]netip.Prefix{{one, two}, {}}[i%2]}); err != nil {
				t.Error(err)
			}
		}
		close(done)
	})
	for {
		select {
		case <-done:
			wg.Wait()
			return
		default:
		}
		c := l.current.Load()
		if c != nil && c.contains(flatAddrOf(one.Addr())) != c.contains(flatAddrOf(two.Addr())) {
			t.Fatal("half of a change is seen")
		}
		l.Contains(one.Addr())
	}
}

// A hundred thousand prefixes.
func BenchmarkList(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var e Entries
	for range 50_000 { // /24 to /32, and /48 to /64: little nesting, as in lists of the field
		var six [16]byte
		binary.BigEndian.PutUint64(six[:], rng.Uint64()>>3|1<<61)
		e.Prefixes = append(e.Prefixes, netip.PrefixFrom(v4(rng.Uint32()), 24+rng.IntN(9)),
			netip.PrefixFrom(netip.AddrFrom16(six), 48+rng.IntN(17)))
	}
	var l List
	if err := l.Replace(e); err != nil {
		b.Fatal(err)
	}
	addrs := make([]netip.Addr, 1<<12)
	for i := range addrs {
		addrs[i] = v4(rng.Uint32())
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l.Contains(addrs[i%len(addrs)])
	}
}

func v4(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))
}
