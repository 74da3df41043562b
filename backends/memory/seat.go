package memory

import (
	"github.com/stint-go/stint/core"
)

// A moment is the instant of a step, the same for all its asks.
type moment struct {
	now      int64
	tick     uint32 // of the own clock, also where now is explicit
	explicit bool
	clock    *clock
}

func (m *moment) expiry(until int64) uint32 {
	if m.explicit {
		return m.clock.explicitExpiry(until, m.now, m.tick)
	}
	return m.clock.expiry(until)
}

// enter fixes the moment of a step. It goes on from the latest instant that the
// shard has seen, so that a call that read its clock long ago can not revive a
// cell that has expired since.
func (s *shard) enter(m *moment, at, read int64) {
	s.last = max(s.last, read)
	m.clock = &s.shared.clock
	m.tick = m.clock.tick(s.last)
	m.now, m.explicit = s.last, at != 0
	if m.explicit {
		m.now = at
	}
}

// A seat is where one ask finds its state during a step.
type seat struct {
	place
	shard *shard
	addr  uint32        // 0: a newcomer
	over  *overflowCell // instead, where there is no room
	ahead int64         // cost of the asks before it on the same overflow cell
	words int           // of the rule
	full  bool          // its state could not grow
}

func (t *seat) load() core.State {
	if t.over != nil {
		return t.over.load(t.words)
	}
	return t.shard.load(t.addr, t.words)
}

// judge writes the verdict of the cell as it is, and returns its state. For a
// shared overflow cell the asks before this one count as charged.
func (t *seat) judge(a *core.Ask, v *core.Verdict, m *moment) core.State {
	if t.full {
		*v = core.Verdict{Err: errFull}
		return nil
	}
	cost := a.Cost
	if t.ahead != 0 {
		cost = min(cost, core.MaxCount) + t.ahead // more than MaxLimit either way
	}
	state := t.load()
	v.Judgement = a.Rule.Decide(state, m.now, t.phase, cost)
	v.Charged, v.Receipt, v.Err = false, core.Receipt{}, nil
	return state
}

// prepare makes sure that a charge finds room, before anything is charged. Where
// it answers false the seat is marked, and the decision must be judged again.
func (t *seat) prepare(m *moment) bool {
	if t.over != nil || t.full {
		return true
	}
	if t.addr != 0 && !isApart(t.words) {
		return true
	}
	if t.addr != 0 {
		t.shard.pinned = append(t.shard.pinned, t.addr)
		t.full = !t.shard.claimApart(t.addr, t.words, m.tick)
		return !t.full
	}
	return t.shard.reserve(t.words, m.tick) && (!isApart(t.words) || t.shard.claimApart(0, t.words, m.tick))
}

// finish charges the ask, or not, and makes its verdict describe the cell after
// that. admitted is the decision's for a hard ask, its own for a soft one; state
// is what load returns now.
func (t *seat) finish(a *core.Ask, v *core.Verdict, state core.State, admitted bool, m *moment) {
	if t.full {
		return
	}
	v.Charged = charges(a.When, admitted)
	if v.Charged && a.Cost > 0 {
		state, receipt := a.Rule.Charge(state, m.now, t.phase, a.Cost)
		t.store(state, m.expiry(a.Rule.Until(state)), limited(&v.Judgement))
		if admitted {
			v.Receipt = receipt
		}
	} else if limited(&v.Judgement) {
		t.mark()
	}
	if v.OK != v.Charged {
		t.revise(a, v, m)
	}
}

// revise is for the two cases in which the judgement's figures do not hold
// after the step: a charge foretold that was not made, one made unforeseen.
func (t *seat) revise(a *core.Ask, v *core.Verdict, m *moment) {
	v.Judgement = revised(v.Judgement, a.Rule, t.load(), m.now, t.phase, a.Cost)
}

func revised(j core.Judgement, rule core.Rule, state core.State, now, phase, cost int64) core.Judgement {
	if !j.OK {
		j = rule.Decide(state, now, phase, cost)
		j.OK = false // as it was decided
		return j
	}
	j = rule.Decide(state, now, phase, 0)
	j.OK, j.RetryAfter = true, 0
	return j
}

func (t *seat) store(state core.State, until uint32, limited bool) {
	if t.over != nil {
		t.shard.shared.overflow.store(t.over, state, until)
		return
	}
	if limited {
		until |= atLimit
	}
	t.addr = t.shard.store(&t.place, t.addr, state, t.words, until)
}

// mark notes, outside the state, that a cell was found at its limit.
func (t *seat) mark() {
	if t.over == nil && t.addr != 0 {
		t.shard.arena.record(t.addr)[1] |= atLimit
	}
}

// charges reports whether an ask is charged in a decision.
func charges(w core.When, admitted bool) bool {
	switch w {
	case core.OnAdmit:
		return admitted
	case core.OnRefuse:
		return !admitted
	}
	return w == core.Always
}

// limited tells that the cell refuses, or will refuse the very next unit. A cost
// that never fits says nothing about the cell.
func limited(j *core.Judgement) bool {
	if j.OK {
		return j.Remaining == 0 && j.ResetAfter > 0
	}
	return j.RetryAfter != core.Forever
}
