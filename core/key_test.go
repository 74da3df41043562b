package core

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"unsafe"
)

// A part is a part of a key, for building keys in several ways.
type keyPart struct {
	kind        Kind
	name, value string
	prefix      netip.Prefix // KindIP
}

func (p keyPart) key() Key {
	if p.kind == KindIP {
		return KeyOfPrefix(p.prefix)
	}
	return KeyOf(p.kind, p.name, p.value)
}

// same reports whether two lists name the same identity.
func same(a, b []keyPart) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if x.kind == KindIP && y.kind == KindIP {
			if unmappedPrefix(x.prefix) != unmappedPrefix(y.prefix) {
				return false
			}
		} else if x.kind != y.kind || x.name != y.name || x.value != y.value {
			return false
		}
	}
	return true
}

// unmappedPrefix is the one form of a prefix, found another way than Key does.
func unmappedPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96).Masked()
	}
	return p.Masked()
}

func joined(parts []keyPart) (k Key) {
	for _, p := range parts {
		k = k.with(p.key())
	}
	return k
}

// partsFrom reads a list of parts out of fuzz data, small alphabets on purpose.
func partsFrom(data []byte) (parts []keyPart) {
	next := func(n int) []byte {
		n = min(n, len(data))
		b := data[:n]
		data = data[n:]
		return b
	}
	for len(data) > 0 && len(parts) < 6 {
		p := keyPart{kind: KindIP + Kind(data[0]%byte(KindMissing))}
		next(1)
		if p.kind == KindIP {
			h := append(next(2), 0, 0)
			var b [16]byte
			copy(b[:], next(16))
			a := netip.AddrFrom16(b)
			if h[0]&1 == 0 {
				a = netip.AddrFrom4([4]byte(b[:4]))
			}
			p.prefix = netip.PrefixFrom(a, int(h[1])%(a.BitLen()+1))
		} else {
			l := append(bytes.Clone(next(2)), 0, 0)
			p.name, p.value = string(next(int(l[0])%150)), string(next(int(l[1])%150))
		}
		parts = append(parts, p)
	}
	return parts
}

func checkTwoKeys(t *testing.T, x, y []keyPart) {
	t.Helper()
	a, b := joined(x), joined(y)
	equal := bytes.Equal(a.Append(nil), b.Append(nil))
	if equal != same(x, y) || equal != (a == b) {
		t.Fatalf("%+v and %+v: equal encodings %v, same identity %v, == %v", x, y, equal, same(x, y), a == b)
	}
	if equal != (a.Print(&testSeeds) == b.Print(&testSeeds)) {
		t.Fatalf("%+v and %+v: fingerprints disagree with the encoding", x, y)
	}
	if joined(append(x[:len(x):len(x)], y...)) != a.with(b) {
		t.Fatalf("%+v, %+v: joining keys is not joining their parts", x, y)
	}
	if c := a.Clone(); c != a {
		t.Fatalf("%+v: the clone differs", x)
	}
}

// Different identities never encode equal, and == says the same.
func FuzzKeyEncoding(f *testing.F) {
	f.Add([]byte{}, []byte{0, 0, 32, 1, 2, 3, 4})
	f.Add([]byte{2, 1, 1, 'a', 'b'}, []byte{2, 2, 0, 'a', 'b'})
	f.Add([]byte{0, 1, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4}, []byte{0, 0, 32, 1, 2, 3, 4})
	f.Add([]byte{1, 0, 0, 1, 0, 0}, []byte{1, 2, 0, 1, 0})
	f.Fuzz(func(t *testing.T, x, y []byte) { checkTwoKeys(t, partsFrom(x), partsFrom(y)) })
}

// The same with small random keys, which often are neighbours.
func TestKeysAgreeWithTheirEncoding(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string { // looks like lengths and kinds
		b := make([]byte, r.IntN(4))
		for i := range b {
			b[i] = byte(r.IntN(3))
		}
		return string(b)
	}
	random := func() []keyPart {
		var parts []keyPart
		for range r.IntN(4) {
			p := keyPart{kind: KindIP + Kind(r.IntN(3)), name: text(), value: text()}
			if p.kind == KindIP {
				b := [16]byte{10: 0xff, 11: 0xff, 12: byte(r.IntN(2)) << 7}
				a := netip.AddrFrom16(b)
				if r.IntN(2) == 0 {
					a = a.Unmap()
				}
				p.prefix = netip.PrefixFrom(a, r.IntN(2)*a.BitLen())
			}
			parts = append(parts, p)
		}
		return parts
	}
	equal := 0
	seen := map[string][]keyPart{}
	for range 100_000 {
		x, y := random(), random()
		checkTwoKeys(t, x, y)
		if same(x, y) {
			equal++
		}
		k := joined(x)
		enc := string(k.Append(nil))
		if was, ok := seen[enc]; ok && !same(was, x) {
			t.Fatalf("%+v and %+v encode equal", was, x)
		}
		seen[enc] = x
	}
	if equal < 500 {
		t.Errorf("only %d equal pairs: the test looks at nothing", equal)
	}
}

func TestJoiningIsAssociativeAndHasAZero(t *testing.T) {
	a, b, c := NewKey("a", "1").With("x", "y"), ipKey("192.0.2.1"), NewKey("c", "").With("", "")
	if a.with(b).with(c) != a.with(b.with(c)) {
		t.Error("(a b) c is not a (b c)")
	}
	if a.with(Key{}) != a || (Key{}).with(a) != a || !(Key{}).with(Key{}).IsZero() {
		t.Error("the zero key adds something")
	}
}

func TestMappedPrefixIsTheIPv4One(t *testing.T) {
	if ipKey("::ffff:192.0.2.1") != ipKey("192.0.2.1") {
		t.Error("::ffff:192.0.2.1 is not 192.0.2.1")
	}
	if KeyOfPrefix(netip.MustParsePrefix("::ffff:192.0.2.1/120")) != KeyOfPrefix(netip.MustParsePrefix("192.0.2.0/24")) {
		t.Error("::ffff:192.0.2.1/120 is not 192.0.2.0/24")
	}
}

func TestKeyOfRefusesKindsWithoutText(t *testing.T) {
	for _, kind := range []Kind{KindNone, KindIP} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("kind %d: no panic", kind)
				}
			}()
			KeyOf(kind, "a", "b")
		}()
	}
}

// The bytes behind a framework's strings change; those of a clone do not.
func TestCloneKeepsNothingOfTheRequest(t *testing.T) {
	buf := []byte("namevalue")
	s := unsafe.String(&buf[0], len(buf))
	k := NewKey("a", s[4:]).With(s[:4], s[4:])
	c := k.Clone()
	before := string(c.Append(nil))
	copy(buf, "XXXXXXXXX")
	if string(c.Append(nil)) != before {
		t.Error("the clone changed with the request's memory")
	}
	if string(k.Append(nil)) == before {
		t.Error("the key did not change: the test looks at nothing")
	}
}

// Frozen: stores outside the process hash these bytes.
func TestKeyEncodingIsFrozen(t *testing.T) {
	k := ipKey("192.0.2.1").with(KeyOfPrefix(netip.MustParsePrefix("2001:db8::/64"))).with(KeyOf(KindForm, "u", "bob")).With("n", "")
	want := "\x01\x04\x20\xc0\x00\x02\x01" + "\x01\x06\x40\x20\x01\x0d\xb8" + strings.Repeat("\x00", 12) + "\x04\x01u\x03bob" + "\x09\x01n\x00"
	if got := string(k.Append(nil)); got != want {
		t.Errorf("encoding %x, want %x", got, want)
	}
	long := NewKey("", strings.Repeat("x", 300))
	if n, _ := binary.Uvarint(long.Append(nil)[2:]); n != 300 {
		t.Errorf("length %d in the encoding, want 300", n)
	}
}

func TestKeysOfOnePartAllocateNothing(t *testing.T) {
	var k Key
	buf := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		k = ipKeyOf(netip.AddrFrom4([4]byte{1, 2, 3, 4}))
		k = KeyOf(KindHeader, "X-Api-Key", "abc")
		buf = k.Append(buf[:0])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func ipKeyOf(a netip.Addr) Key { return KeyOfPrefix(netip.PrefixFrom(a, a.BitLen())) }

func TestKeysByHandAreThoseOfTheSources(t *testing.T) {
	a := JoinKeys(KeyOf(KindHeader, "x-api-key", "k"), KeyOf(KindUser, "", "bob"))
	b := KeyOf(KindHeader, "X-Api-Key", "k").with(KeyOf(KindUser, "", "bob"))
	if a != b || JoinKeys() != (Key{}) {
		t.Errorf("%+v, %+v", a, b)
	}
}
