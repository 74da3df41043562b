package memory

import (
	"sync"
	"sync/atomic"

	"github.com/stint-go/stint/core"
)

// overflow holds the cells that newcomers share where there is no room for them
// and everybody is at the limit: one per space and clock. Its lock is the last
// to be taken of those that are held to the end of a decision.
type overflow struct {
	bytes atomic.Int64
	mu    sync.Mutex
	cells map[overflowID]*overflowCell
}

type overflowID struct {
	space    core.Print
	explicit bool
}

type overflowCell struct {
	state core.State
	until uint32
	phase int64
}

const mostOverflow = 64

// cell is the overflow cell of a space, made where it is missing. Its phase is
// not asked of the space, whose phase function is the user's.
func (o *overflow) cell(s *core.Space, explicit bool) *overflowCell {
	id := overflowID{s.ID(), explicit}
	c := o.cells[id]
	if c != nil {
		return c
	}
	if o.cells == nil {
		o.cells = make(map[overflowID]*overflowCell)
	}
	if len(o.cells) == mostOverflow {
		o.dropOne()
	}
	c = &overflowCell{phase: int64(id.space.B % uint64(s.Window()))}
	o.cells[id] = c
	return c
}

// dropOne drops the cell that is empty soonest.
func (o *overflow) dropOne() {
	var first overflowID
	var soonest *overflowCell
	for id, c := range o.cells {
		if soonest == nil || c.until < soonest.until {
			first, soonest = id, c
		}
	}
	o.bytes.Add(-stateBytes(cap(soonest.state)))
	delete(o.cells, first)
}

// load is the state with so many words; what is left of it after an expiry is
// for the rule to see, as its Until says that it equals the empty state.
func (c *overflowCell) load(words int) core.State {
	if len(c.state) == 0 && words > 0 {
		return make(core.State, words)
	}
	return c.state
}

func (o *overflow) store(c *overflowCell, state core.State, until uint32) {
	if c.state != nil {
		o.bytes.Add(-stateBytes(cap(c.state)))
	}
	o.bytes.Add(stateBytes(cap(state)))
	c.state, c.until = state, until
}
