package redislimit

import (
	"slices"

	"github.com/stint-go/stint/core"
)

// seen is what a program saw of a cell before it was charged.
type seen struct {
	state core.State // as far as Decide looks at it
	err   error
}

// judge tells which asks of one decision are charged, and whether it is
// admitted. broken: a hard ask has an error, and no hard ask is charged. It is
// what the programs do in Lua.
func judge(now int64, ts []target, cells []seen) (ok []bool, admitted, broken bool) {
	ok = make([]bool, len(ts))
	admitted = true
	for i := range ts {
		t := &ts[i]
		ok[i] = cells[i].err == nil && t.Rule.Decide(cells[i].state, now, t.phase, t.cost).OK
		if !t.soft {
			admitted = admitted && ok[i]
			broken = broken || cells[i].err != nil
		}
	}
	return ok, admitted, broken
}

// charged tells whether ask t of a decision is charged; ok is its own verdict.
func (t *target) charged(ok, admitted, broken bool) bool {
	if t.soft {
		admitted, broken = ok, false
	}
	switch t.when {
	case core.OnAdmit:
		return admitted
	case core.OnRefuse:
		return !admitted && !broken
	case core.Always:
		return !broken
	}
	return false
}

// conclude writes the verdicts of one decision.
func conclude(now int64, ts []target, cells []seen, out []core.Verdict) {
	ok, admitted, broken := judge(now, ts, cells)
	for i := range ts {
		t := &ts[i]
		if cells[i].err != nil {
			out[i] = core.Verdict{Err: cells[i].err}
			continue
		}
		out[i] = t.verdict(now, cells[i].state, t.charged(ok[i], admitted, broken), t.soft && ok[i] || !t.soft && admitted)
	}
}

// verdict describes the cell after the step. admitted is the decision's for a
// hard ask, its own for a soft one.
func (t *target) verdict(now int64, state core.State, charged, admitted bool) core.Verdict {
	v := core.Verdict{Judgement: t.Rule.Decide(state, now, t.phase, t.cost), Charged: charged}
	if !charged {
		if v.OK { // Decide foretold a charge that was not made
			v.Judgement = t.Rule.Decide(state, now, t.phase, 0)
			v.OK, v.RetryAfter = true, 0
		}
		return v
	}
	after, receipt := t.Rule.Charge(slices.Clone(state), now, t.phase, t.cost)
	if !v.OK { // the promise to come again counts from here
		v.Judgement = t.Rule.Decide(after, now, t.phase, t.cost)
	}
	if admitted {
		v.Receipt = receipt
	}
	return v
}
