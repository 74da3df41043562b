package redislimit

import "hash/fnv"

// clusterSlots is the number of hash slots of a Redis Cluster.
const clusterSlots = 16384

// clusterSlot is the slot of all keys with that hash tag: CRC-16/XMODEM.
func clusterSlot(tag []byte) uint64 {
	var crc uint16
	for _, c := range tag {
		crc ^= uint16(c) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return uint64(crc % clusterSlots)
}

// ringSlot tells identities apart: those of one Ring may live on different
// servers, wherever they live.
func ringSlot(tag []byte) uint64 {
	h := fnv.New64a()
	h.Write(tag)
	return h.Sum64()
}
