package memory

import "github.com/stint-go/stint/core"

// A place is where a cell belongs, and how its record is told from others. The
// shard is made of the key's hash alone; tag, side and body of the cell's: at
// least 110 bits, and the shard's on top, are compared in all.
type place struct {
	body  uint64
	side  uint32
	tag   uint32 // in the upper bits, as in a slot of the index
	shard uint32
	phase int64
}

// explicitClock keeps cells with explicit instants apart from all others.
const explicitClock = 0x9e3779b97f4a7c15

// locate makes the place in place: copying a struct whose fields were just
// written is what costs most in a decision, here and below. It calls the phase
// function of the space, which is the user's: never under a lock.
func (b *Backend) locate(c *core.Cell, explicit bool, p *place) {
	key := c.Key.Fingerprint(&b.seeds, [2]uint64{})
	id := c.Space.ID()
	first, second := key[0]^id[0], key[1]^id[1]
	p.body = second
	p.side = uint32(first >> tagBits)
	p.tag = uint32(first) << addrBits
	p.shard = uint32(key[0] >> b.shift)
	p.phase = c.Phase(second)
	if explicit {
		p.body ^= explicitClock
	}
}
