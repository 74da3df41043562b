package memcachedlimit

import (
	"context"
	"slices"

	"github.com/stint-go/stint/core"
)

// Settle implements core.Backend: one correction after the other. A refund of a
// counter goes to the counter of its receipt: it is one decr, never below 0, and
// never touches another window.
func (b *Backend) Settle(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(rs) != len(asks) || len(delta) != len(asks) || at < 0 {
		return errInput
	}
	cells, err := cellsOf(asks, at != 0)
	if err != nil || len(cells) == 0 {
		return err
	}
	k := &call{b: b, lane: b.lanes.enter(ctx), at: at}
	defer b.lanes.leave(k.lane)
	k.begin()
	var first error
	for i := range cells {
		err := cells[i].err
		if err == nil {
			err = k.settle(&cells[i], rs[i], delta[i])
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// settle makes one correction.
func (k *call) settle(c *cell, r core.Receipt, delta int64) error {
	switch {
	case delta == 0:
		return nil
	case c.count > 0 && delta < 0:
		return k.refund(c, r, delta)
	}
	if k.look(c); c.err != nil {
		err := c.err
		c.err = nil // it is the correction's, not the ask's
		return err
	}
	corrected := func(s core.State) core.State {
		return c.Rule.Settle(slices.Clone(s), k.now, c.phase, r, delta)
	}
	if c.count > 0 {
		return k.owe(c, corrected(c.state)[1]-c.state[1])
	}
	err := k.swap(c, func(s core.State) (core.State, bool) {
		if delta < 0 && (c.item == nil || len(c.item.Value) == 0) {
			return nil, false // gone
		}
		return corrected(s), true
	})
	c.err = nil
	return err
}

// refund gives units back to the counter that they were charged to.
func (k *call) refund(c *cell, r core.Receipt, delta int64) error {
	if r.A == 0 {
		return nil
	}
	number, ok := c.numbered(r.A, c.phase)
	if !ok {
		return nil // a receipt of another rule
	}
	if k.date([]*cell{c}); c.err != nil {
		err := c.err
		c.err = nil
		return err
	}
	return k.decr(c.counter(number), uint64(-max(delta, -core.MaxCount)))
}

// owe charges a debt, beyond full where it must.
func (k *call) owe(c *cell, units int64) error {
	if units <= 0 {
		return nil
	}
	before, err := k.charge(c, units)
	if excess := before + units - core.MaxCount; err == nil && excess > 0 {
		err = k.decr(c.counter(c.number), uint64(excess))
	}
	return err
}
