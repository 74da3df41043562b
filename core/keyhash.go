package core

import (
	"hash/maphash"
	"math/bits"
)

// A Print is 128 bits, A and B, that stand for a key, or for a space, inside a
// process.
type Print struct{ A, B uint64 }

// Xor mixes two prints: that of a key and the ID of a space are that of a cell.
func (p Print) Xor(q Print) Print { return Print{p.A ^ q.A, p.B ^ q.B} }

// Print is the key's identity in 128 bits, for tables inside the process: two
// halves hashed under the two seeds, which must be independent and secret
// (maphash.MakeSeed), so that nobody outside can make keys that collide. The
// cells of one identity in several spaces need one print: see Print.Xor. Keys up
// to about 200 bytes allocate nothing.
func (k *Key) Print(s *[2]maphash.Seed) Print {
	switch {
	case k.head != "" || k.kind == KindNone:
		return k.printBytes(s)
	case k.kind == KindIP:
		return printAddr(k.hi, k.lo, k.bits, k.v4, s)
	}
	return printText(k.value, s).Xor(k.printPart(s))
}

// printText hashes one text, twice, as there is no hash of 128 bits. The second
// hash of a short text is one multiplication of its bytes, masked by the first:
// who knows nothing of that can not make the second collide either, and to know it
// is to have broken the first.
func printText(text string, s *[2]maphash.Seed) Print {
	a := maphash.String(s[0], text)
	if len(text) > 16 {
		return Print{a, maphash.String(s[1], text)}
	}
	x, y := ends(text)
	return twice(a, x, y, len(text))
}

// twice adds the second hash, of two words and a length.
func twice(a, x, y uint64, n int) Print {
	hi, lo := bits.Mul64(x^a, y^bits.RotateLeft64(a, 32)^uint64(n)*0x9e3779b97f4a7c15)
	return Print{a, hi ^ lo}
}

// ends are the bytes of a text of up to 16 bytes, in two words that may overlap.
func ends(s string) (x, y uint64) {
	switch n := len(s); {
	case n >= 8:
		return word(s), word(s[n-8:])
	case n >= 4:
		return half(s), half(s[n-4:])
	case n > 0:
		return uint64(s[0]), uint64(s[n/2])<<8 | uint64(s[n-1])
	}
	return 0, 0
}

// word and half are the first 8 and 4 bytes: single loads, once compiled.
func word(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func half(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// printPart is what kind and name of the last part add to the print of its
// value, so that the key's encoding need not be written down. They come from the
// program, not from the client, and are mixed in by a multiplication of their hash.
func (k *Key) printPart(s *[2]maphash.Seed) Print {
	n := maphash.String(s[1], k.name) + uint64(k.kind)<<56
	hi, lo := bits.Mul64(n|1, 0x9e3779b97f4a7c15^uint64(len(k.name)))
	return Print{hi, lo}
}

func (k *Key) printBytes(s *[2]maphash.Seed) Print {
	var buf [224]byte
	b := k.Append(buf[:0])
	if len(b) == 0 {
		b = buf[:1] // maphash answers the seed itself for no bytes
	}
	return Print{maphash.Bytes(s[0], b), maphash.Bytes(s[1], b)}
}

// printAddr hashes the commonest key, a prefix in two words, in registers and as
// printText does: twice, the second time by a multiplication that the first masks.
// A v4 prefix is one word, a v6 prefix two that are chained. The prefix length
// multiplies the first link, which nobody outside can know.
func printAddr(hi, lo uint64, size uint8, v4 bool, s *[2]maphash.Seed) Print {
	x := lo&(1<<32-1)<<8 | uint64(size)<<40 // first and last byte 0: like no encoding
	if !v4 {
		x = lo ^ (2*uint64(size)+1)*maphash.Comparable(s[1], hi)
	}
	return twice(maphash.Comparable(s[0], x), lo, hi, int(size))
}
