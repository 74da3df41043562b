package memory

import "github.com/stint-go/stint/core"

// A place is where a cell belongs, and how its record is told from others. The
// shard is made of the key's hash alone; tag, side and body of the cell's: at
// least 110 bits, and the shard's on top, are compared in all.
type place struct {
	fingerprint
	shard uint32
	phase int64
}

// A fingerprint fits the registers.
type fingerprint struct {
	body uint64
	side uint32
	tag  uint32 // in the upper bits, as in a slot of the index
}

// explicitClock keeps cells with explicit instants apart from all others.
const explicitClock = 0x9e3779b97f4a7c15

// locate makes the place in place: copying a struct whose fields were just
// written is what costs most in a decision, here and below. It calls the phase
// function of the space, which is the user's: never under a lock.
func (b *Backend) locate(c *core.Cell, explicit bool, p *place) {
	b.locatePrint(c.Space, c.Key.Print(&b.seeds), explicit, p)
	if c.Space.OwnPhase() {
		p.phase = c.Phase(0)
	}
}

// locatePrint is locate for a key that is known by its print alone.
func (b *Backend) locatePrint(space *core.Space, key core.Print, explicit bool, p *place) {
	cell := key.Xor(space.ID())
	p.fingerprint = fingerprintOf(cell)
	p.shard = uint32(key.A >> b.shift)
	p.phase = space.Phase(cell.B)
	if explicit {
		p.body ^= explicitClock
	}
}

func fingerprintOf(cell core.Print) fingerprint {
	return fingerprint{cell.B, uint32(cell.A >> tagBits), uint32(cell.A) << addrBits}
}
