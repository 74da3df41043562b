package core

import (
	"hash/maphash"
	"math/bits"
)

// Fingerprint is the key's identity in 128 bits, for tables inside the process:
// two halves hashed under the two seeds, which must be independent and secret
// (maphash.MakeSeed), so that nobody outside can make keys that collide.
//
// id is mixed in last: Fingerprint(s, id) is Fingerprint(s, [2]uint64{}) with
// each half XORed with id's. So the cells of one identity in several spaces need
// one hash, with Space.ID as id. Keys up to about 200 bytes allocate nothing.
func (k *Key) Fingerprint(s *[2]maphash.Seed, id [2]uint64) [2]uint64 {
	switch {
	case k.head != "" || k.kind == KindNone:
		return k.fingerprintBytes(s, id)
	case k.kind == KindIP:
		return k.fingerprintIP(s, id)
	}
	return k.fingerprintText(s, id)
}

// fingerprintText hashes a key of one text without writing its encoding down.
// The part's name comes from the program, not from the client, and is mixed in
// by a multiplication of its own hash.
func (k *Key) fingerprintText(s *[2]maphash.Seed, id [2]uint64) [2]uint64 {
	n := maphash.String(s[1], k.name) + uint64(k.kind)<<56
	hi, lo := bits.Mul64(n|1, 0x9e3779b97f4a7c15^uint64(len(k.name)))
	return [2]uint64{maphash.String(s[0], k.value) ^ hi ^ id[0], maphash.String(s[1], k.value) ^ lo ^ id[1]}
}

func (k *Key) fingerprintBytes(s *[2]maphash.Seed, id [2]uint64) [2]uint64 {
	var buf [224]byte
	b := k.Append(buf[:0])
	if len(b) == 0 {
		b = buf[:1] // maphash answers the seed itself for no bytes
	}
	return [2]uint64{maphash.Bytes(s[0], b) ^ id[0], maphash.Bytes(s[1], b) ^ id[1]}
}

// fingerprintIP hashes the commonest key by whole words, in registers: a v4
// prefix is one word, a v6 prefix two that are chained. The prefix length
// multiplies the first link, which nobody outside can know.
func (k *Key) fingerprintIP(s *[2]maphash.Seed, id [2]uint64) [2]uint64 {
	a := k.lo&(1<<32-1)<<8 | uint64(k.bits)<<40 // first and last byte 0: like no encoding
	b := a
	if !k.v4 {
		n := 2*uint64(k.bits) + 1
		a = k.lo ^ n*maphash.Comparable(s[0], k.hi)
		b = k.lo ^ n*maphash.Comparable(s[1], k.hi)
	}
	return [2]uint64{maphash.Comparable(s[0], a) ^ id[0], maphash.Comparable(s[1], b) ^ id[1]}
}
