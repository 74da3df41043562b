package memory

// A record is two words of head and the words of the state up to its class;
// trailing zero words of a state are not stored.
//
//	word 0: place.body
//	word 1: place.side << 32 | flags | expiry in ticks, at least 1
//
// A free record has word 1 zero.
const (
	headWords = 2

	atLimit = 1 << 31 // the last decision left or found the cell at its limit
	apart   = 1 << 30 // the only state word is 1 + an index of shard.apart
	expires = 1<<30 - 1
)

func head(p fingerprint, flags uint32) int64 { return int64(uint64(p.side)<<32 | uint64(flags)) }
