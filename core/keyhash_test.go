package core

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"
	"testing"
)

var testSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func ipKey(s string) Key {
	a := netip.MustParseAddr(s)
	return KeyOfPrefix(netip.PrefixFrom(a, a.BitLen()))
}

// hashedKeys are keys whose bytes, but for kinds, names and lengths, look alike.
func hashedKeys() []Key {
	ks := []Key{{}, NewKey("", ""), NewKey("a", ""), NewKey("", "a"), KeyOf(KindUser, "", "a"),
		ipKey("1.2.3.4"), ipKey("::1.2.3.4"), ipKey("0.0.0.0"), ipKey("::"), ipKey("2001:db8::1"),
		KeyOfPrefix(netip.MustParsePrefix("0.0.0.0/0")), KeyOfPrefix(netip.MustParsePrefix("::/0")),
		KeyOfPrefix(netip.Prefix{}), ipKey("1.2.3.4").With("a", "b"), NewKey("a", "b").with(ipKey("1.2.3.4")),
		NewKey("", strings.Repeat("x", 199)), NewKey("", strings.Repeat("x", 8000)), NewKey("", "\x00"), NewKey("", "\x00\x00")}
	for i := range 256 {
		ks = append(ks, ipKey("10.0.0."+strconv.Itoa(i)), ipKey("2001:db8::"+strconv.FormatInt(int64(i)+2, 16)),
			KeyOf(KindForm, "user", strconv.Itoa(i)))
	}
	return ks
}

func TestPrintDistinguishesKeysAndSpaces(t *testing.T) {
	seen := make(map[Print]string)
	halves := [2]map[uint64]bool{{}, {}}
	for _, s := range []*Space{NewSpace("a", 1, "x", nil, nil), NewSpace("a", 2, "x", nil, nil), NewSpace("b", 1, "x", nil, nil)} {
		for _, k := range hashedKeys() {
			fp := k.Print(&testSeeds).Xor(s.ID())
			name := s.Policy() + strconv.FormatInt(s.Window(), 10) + string(k.Append(nil))
			if was, ok := seen[fp]; ok {
				t.Fatalf("%q and %q share a fingerprint", was, name)
			}
			seen[fp] = name
			for i, h := range [2]uint64{fp.A, fp.B} {
				if halves[i][h] {
					t.Fatalf("%q: half %d is not unique", name, i)
				}
				halves[i][h] = true
			}
		}
	}
}

// Every byte and the length of a text have their say in both halves, whichever
// way texts of that length are hashed.
func TestPrintTellsTextsApart(t *testing.T) {
	halves := [2]map[uint64]string{{}, {}}
	for n := range 40 {
		words := map[[2]uint64]string{} // of a short text: all of its bytes are in them
		texts := []string{strings.Repeat("x", n)}
		for i := range n {
			texts = append(texts, strings.Repeat("x", i)+"y"+strings.Repeat("x", n-i-1), strings.Repeat("x", i)+"\x00"+strings.Repeat("x", n-i-1))
		}
		for _, text := range texts {
			if x, y := ends(text); n <= 16 {
				if was, ok := words[[2]uint64{x, y}]; ok {
					t.Fatalf("the words of %q are those of %q", text, was)
				}
				words[[2]uint64{x, y}] = text
			}
			p := printText(text, &testSeeds)
			for i, h := range [2]uint64{p.A, p.B} {
				if was, ok := halves[i][h]; ok {
					t.Fatalf("half %d of %q is that of %q", i, text, was)
				}
				halves[i][h] = text
			}
		}
	}
}

func TestPrintIsOfTheEncodingAlone(t *testing.T) {
	a := NewKey("a", "b").With("c", "d")
	b := NewKey("a", "b").with(NewKey("c", "d").Clone()).Clone()
	if a.Print(&testSeeds) != b.Print(&testSeeds) {
		t.Error("equal keys have different prints")
	}
}

// Every bit of both halves depends on the seeds and is balanced over addresses
// that count upwards: memory takes shard, slot and phase from any of them.
func TestPrintBitsAreBalanced(t *testing.T) {
	var ones [2][64]int
	var corr int
	const n = 1 << 14
	for i := range n {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], 10<<24|uint32(i))
		k := KeyOfPrefix(netip.PrefixFrom(netip.AddrFrom4(b), 32))
		fp := k.Print(&testSeeds)
		for h := range 2 {
			for bit := range 64 {
				ones[h][bit] += int([2]uint64{fp.A, fp.B}[h] >> bit & 1)
			}
		}
		corr += bits.OnesCount64(fp.A ^ fp.B)
	}
	for h := range 2 {
		for bit, c := range ones[h] {
			if c < n/2-n/16 || c > n/2+n/16 { // 16 standard deviations
				t.Errorf("half %d bit %d: %d ones of %d", h, bit, c, n)
			}
		}
	}
	if mean := float64(corr) / n; mean < 31 || mean > 33 {
		t.Errorf("halves differ in %.1f bits on average, want 32", mean)
	}
}

func TestPrintDoesNotAllocate(t *testing.T) {
	for _, k := range []Key{{}, ipKey("1.2.3.4"), ipKey("2001:db8::1"), NewKey("user", strings.Repeat("x", 190)), ipKey("::1").With("a", "b")} {
		if n := testing.AllocsPerRun(100, func() { k.Print(&testSeeds) }); n != 0 {
			t.Errorf("%x: %v allocations", k.Append(nil), n)
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	for name, k := range map[string]Key{"ip4": ipKey("1.2.3.4"), "ip6": ipKey("2001:db8::1"), "form16": KeyOf(KindForm, "username", "alice@example.org")} {
		b.Run(name, func(b *testing.B) {
			var x uint64
			for b.Loop() {
				fp := k.Print(&testSeeds)
				x ^= fp.A ^ fp.B
			}
			sink = x
		})
	}
}

var sink uint64
