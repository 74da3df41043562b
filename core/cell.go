package core

import (
	"encoding/binary"
	"hash/maphash"
	"strconv"
	"strings"
	"sync/atomic"
)

// A Space is the set of cells of one policy, window and shape: everything of a
// cell's name but the key. It is made once per rate and policy, is immutable and
// safe for concurrent use. Two Spaces of equal content name the same cells.
type Space struct {
	policy    string
	window    int64
	shape     string
	id        Print
	naming    *Naming
	phase     func(Cell) int64
	staggered bool
	outside   atomic.Pointer[Print] // OutsideID, once it was asked for
}

// spaceSeed makes Space.ID the same for equal content within this process.
var spaceSeed = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// NewSpace returns the space of a policy's cells for a window in microseconds
// and a Rule.Shape. Limit and burst are no part of it, so changing them keeps
// what is consumed. A nil naming is the zero Naming. A nil phase staggers by
// the backend's own hash of the cell.
func NewSpace(policy string, window int64, shape string, naming *Naming, phase func(Cell) int64) *Space {
	if naming == nil {
		naming = new(Naming)
	}
	s := &Space{policy: policy, window: window, shape: shape, naming: naming, phase: phase,
		staggered: strings.HasSuffix(shape, "-staggered")}
	b := binary.AppendUvarint(nil, uint64(len(policy)))
	b = append(b, policy...)
	b = strconv.AppendInt(b, window, 10)
	b = append(b, ' ')
	b = append(b, shape...)
	s.id = Print{maphash.Bytes(spaceSeed[0], b), maphash.Bytes(spaceSeed[1], b)}
	return s
}

// Policy, Window (microseconds) and Shape are the parts of the space.
func (s *Space) Policy() string { return s.policy }
func (s *Space) Window() int64  { return s.window }
func (s *Space) Shape() string  { return s.shape }

// ID is a print of policy, window and shape under a seed of this process: for
// backends inside it, to be mixed into that of the key.
func (s *Space) ID() Print { return s.id }

// OutsideID is ID for tables in front of a store outside the process: spaces
// whose cells have other names there, by another prefix or secret, differ.
func (s *Space) OutsideID() Print {
	if p := s.outside.Load(); p != nil {
		return *p
	}
	sample := Cell{s, NewKey("space", "")}
	name := sample.AppendName(nil)
	p := s.id.Xor(Print{maphash.Bytes(spaceSeed[0], name), maphash.Bytes(spaceSeed[1], name)})
	s.outside.Store(&p)
	return p
}

// OwnPhase reports whether the space has a phase function of its own.
func (s *Space) OwnPhase() bool { return s.phase != nil }

// Phase is Cell.Phase for a space without a phase function of its own.
func (s *Space) Phase(hash uint64) int64 {
	if !s.staggered {
		return 0
	}
	return int64(hash % uint64(s.window))
}

// A Cell is the address of one counter: a space and the key of one identity.
type Cell struct {
	Space *Space
	Key   Key
}

// Phase is the offset of the cell's windows from the Unix epoch, in [0, window):
// hash mod window, where hash is 64 well mixed bits of the backend's own name of
// the cell, or what Config.Phase says. It is 0 for shapes that do not end in
// "-staggered": nobody would look at it.
func (c *Cell) Phase(hash uint64) int64 {
	if c.Space.phase != nil && c.Space.staggered {
		return mod(c.Space.phase(*c), c.Space.window)
	}
	return c.Space.Phase(hash)
}

// mod is the remainder in [0, n).
func mod(a, n int64) int64 {
	if a %= n; a < 0 {
		a += n
	}
	return a
}
