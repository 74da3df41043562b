package core

import (
	"encoding/binary"
	"hash/maphash"
)

// Fingerprint is the key's identity in 128 bits, for tables inside the process:
// two halves hashed under the two seeds, which must be independent and secret
// (maphash.MakeSeed), so that nobody outside can make keys that collide.
//
// id is mixed in last: Fingerprint(s, id) is Fingerprint(s, [2]uint64{}) with
// each half XORed with id's. So the cells of one identity in several spaces need
// one hash, with Space.ID as id. Keys up to about 200 bytes allocate nothing.
func (k *Key) Fingerprint(s *[2]maphash.Seed, id [2]uint64) [2]uint64 {
	if k.kind == KindIP && k.head == "" {
		return k.fingerprintIP(s, id)
	}
	var buf [224]byte
	b := k.Append(buf[:0])
	if len(b) == 0 {
		b = buf[:1] // maphash answers the seed itself for no bytes
	}
	return [2]uint64{maphash.Bytes(s[0], b) ^ id[0], maphash.Bytes(s[1], b) ^ id[1]}
}

// fingerprintIP hashes a shorter form of the commonest key. Its first byte is
// KindNone, with which no encoding begins, and its length is not that of the
// empty key's.
func (k *Key) fingerprintIP(s *[2]maphash.Seed, id [2]uint64) [2]uint64 {
	var buf [24]byte
	b := buf[:8]
	if k.v4 {
		binary.LittleEndian.PutUint64(b, 4<<8|uint64(k.bits)<<16|k.lo<<32)
	} else {
		b = buf[:]
		binary.LittleEndian.PutUint64(b, 6<<8|uint64(k.bits)<<16)
		binary.LittleEndian.PutUint64(b[8:], k.hi)
		binary.LittleEndian.PutUint64(b[16:], k.lo)
	}
	return [2]uint64{maphash.Bytes(s[0], b) ^ id[0], maphash.Bytes(s[1], b) ^ id[1]}
}
