package memcachedlimit

import (
	"cmp"
	"slices"

	"github.com/stint-go/stint/core"
)

// A decision is made in two steps. First its cells are read, and judged as they
// are: most refusals end here, and nothing was written. Then what is admitted is
// charged cell by cell, the one with the least left first, and judged again by
// what the cell held when it was charged: others may have come between. Where
// that refuses, what was charged is given back. Until it is, another decision can
// meet it, and be refused although it would have fitted; never is more admitted.
type decision struct {
	*call
	cells    []cell
	some     [4]*cell // room for those that are due
	admitted bool     // all hard asks are OK
	broken   bool     // a hard ask has an error: no hard ask is charged
	late     bool     // a sub-window ended while its counter was charged
}

// make returns false where the decision has to be made again, at a later
// instant: nothing of it is charged then.
func (d *decision) make() bool {
	d.judge()
	for _, c := range d.due() {
		if !c.Soft && !d.admitted {
			continue
		}
		if d.reserve(c); d.late {
			d.giveBack(func(*cell) bool { return true })
			return false
		}
	}
	if !d.admitted {
		d.giveBack(func(c *cell) bool { return !c.Soft && (d.broken || c.When == core.OnAdmit) })
	}
	for i := range d.cells {
		if c := &d.cells[i]; d.strikes(c) {
			d.strike(c)
		}
	}
	return true
}

// judge reads the cells and judges them.
func (d *decision) judge() {
	d.admitted, d.broken, d.late = true, false, false
	if !d.blind() {
		d.look(d.all()...)
	}
	for i := range d.cells {
		c := &d.cells[i]
		c.ok = c.err == nil && c.judge(d.now).OK
		d.note(c)
	}
}

func (d *decision) all() []*cell {
	all := make([]*cell, len(d.cells))
	for i := range d.cells {
		all[i] = &d.cells[i]
	}
	return all
}

// note takes what is now known of an ask into the decision.
func (d *decision) note(c *cell) {
	if !c.Soft {
		d.admitted = d.admitted && c.ok
		d.broken = d.broken || c.err != nil
	}
}

// blind tells whether nothing need be read: where one counter is all that there
// is, charging it tells what it held.
func (d *decision) blind() bool {
	c := &d.cells[0]
	if len(d.cells) > 1 || c.count != 1 || c.Cost == 0 || !charges(c.When, true) || c.err != nil {
		return false
	}
	if c.explicit {
		if d.date(d.all()); c.err != nil {
			return true // and so it is judged
		}
	}
	c.number = c.layout.number(d.now, c.phase)
	c.state = c.room(0, 2)
	clear(c.state)
	return c.judge(d.now).OK // else no charge can fit
}

// due are the asks to be charged when admitted: the hard ones first, and of them
// the one that is the likeliest to be refused.
func (d *decision) due() []*cell {
	due := d.some[:0]
	for i := range d.cells {
		if c := &d.cells[i]; c.ok && c.Cost > 0 && charges(c.When, true) {
			due = append(due, c)
		}
	}
	if len(due) > 1 {
		slices.SortStableFunc(due, func(a, b *cell) int {
			switch {
			case a.Soft == b.Soft:
			case b.Soft:
				return -1
			default:
				return 1
			}
			return cmp.Compare(a.judge(d.now).Remaining, b.judge(d.now).Remaining)
		})
	}
	return due
}

// reserve charges an ask that was OK, unless it no longer is.
func (d *decision) reserve(c *cell) {
	if c.count == 0 {
		c.err = d.swap(c, func(s core.State) (core.State, bool) {
			if c.ok = c.judge(d.now).OK; !c.ok {
				return nil, false
			}
			next, _ := c.after(d.now)
			return next, true
		})
		c.ok = c.ok && c.err == nil
		c.charged = c.ok
		d.note(c)
		return
	}
	before, err := d.charge(c, c.Cost)
	if err != nil {
		c.err, c.ok = err, false
		d.note(c)
		return
	}
	c.with(before)
	c.charged, c.ok = true, c.judge(d.now).OK
	switch {
	case !c.ok:
		d.takeBack(c)
	case d.at == 0 && c.count > 1:
		// Others look at this counter in later sub-windows, and count on it not to
		// grow any more.
		d.late = d.b.clock.now() >= c.end(c.number, c.phase)
	}
	d.note(c)
}

// giveBack takes back charges of a decision that they are not to stay of.
func (d *decision) giveBack(which func(*cell) bool) {
	for i := range d.cells {
		if c := &d.cells[i]; c.charged && which(c) {
			d.takeBack(c)
		}
	}
}

// takeBack takes an ask's charge back. One that can not be taken back is reported
// as charged, with its receipt; it stays until its window has passed.
func (d *decision) takeBack(c *cell) {
	var err error
	if c.count > 0 {
		err = d.decr(c.counter(c.number), uint64(c.Cost))
	} else {
		_, receipt := c.after(d.now)
		before := slices.Clone(c.state) // its room is used again
		err = d.settle(c, receipt, -c.Cost)
		c.state = before
	}
	c.stuck = err != nil
	c.charged = c.stuck
}

// strikes tells whether an ask is charged because it, or its decision, was refused.
func (d *decision) strikes(c *cell) bool {
	if c.err != nil || c.charged || c.Cost == 0 || !charges(c.When, false) {
		return false
	}
	if c.Soft {
		return !c.ok
	}
	return !d.admitted && !d.broken
}

// strike charges an ask that is charged by a refusal: up to full and not beyond.
func (d *decision) strike(c *cell) {
	if c.count == 0 {
		c.err = d.swap(c, func(core.State) (core.State, bool) {
			next, _ := c.after(d.now)
			return next, true
		})
		c.charged = c.err == nil
		return
	}
	room := func() int64 {
		after, _ := c.after(d.now)
		return after[1] - c.state[1]
	}
	if units := room(); units > 0 {
		before, err := d.charge(c, units)
		if err != nil {
			c.err = err
			return
		}
		c.with(before)
		if excess := units - room(); excess > 0 {
			_ = d.decr(c.counter(c.number), uint64(excess)) // else it is too full until the window ends
		}
	}
	c.charged = true
}

// charges tells whether an ask is charged when it is admitted, or refused.
func charges(w core.When, admitted bool) bool {
	return w == core.Always || w == core.OnAdmit && admitted || w == core.OnRefuse && !admitted
}

func (d *decision) verdicts(out []core.Verdict) {
	for i := range d.cells {
		c := &d.cells[i]
		admitted, broken := d.admitted, d.broken
		if c.Soft {
			admitted, broken = c.ok, false
		}
		if c.Cost == 0 { // there was nothing to write
			c.charged = !broken && charges(c.When, admitted)
		}
		out[i] = c.verdict(d.now, admitted)
	}
}
