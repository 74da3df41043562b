package core

import (
	"slices"
	"testing"

	"github.com/stint-go/stint/internal/oracle"
)

// Every figure of every verdict is what the oracle says, to the microsecond, and
// a store that forgets states at Until decides as one that never forgets.
func TestVerdictsAreExact(t *testing.T) {
	for name, when := range map[string]When{"admitted": OnAdmit, "all": Always, "refused": OnRefuse} {
		t.Run("charging "+name, func(t *testing.T) {
			histories(t, func(t *testing.T, h *history) {
				c, o := h.counter(t), oracleOf(t, h.strategy, h.rate, h.phase)
				forgetful := c.clone()
				var v Verdict
				for now, step := h.begin(), 0; step < 60 && !t.Failed(); step++ {
					wait, cost := h.next(c, v)
					if now += wait; now > epoch+1<<50 {
						break
					}
					forgetful.reclaim(now)
					free, before := o.Free(now), slices.Clone(c.state)
					if v = c.peek(now, cost); !slices.Equal(c.state, before) {
						t.Errorf("looking changed %v to %v", before, c.state)
					}
					if w := forgetful.peek(now, cost); w != v {
						t.Errorf("after expiry %+v, before %+v", w, v)
					}
					if v.OK && when == OnAdmit {
						o.Charge(now, cost) // the figures of an admission include it
						exact(t, c, o, v, now, cost, free)
					} else if !v.OK {
						exact(t, c, o, v, now, cost, free)
					}
					if v.OK && when == Always || !v.OK && when != OnAdmit {
						o.Charge(now, cost)
					}
					c.take(now, cost, when)
					forgetful.take(now, cost, when)
					if v := c.peek(now, 0); max(c.rule.Until(c.state), now) != now+v.ResetAfter {
						t.Errorf("expires at %d, but is empty after %d", c.rule.Until(c.state)-now, v.ResetAfter)
					}
				}
			})
		})
	}
}

// exact compares a verdict with the oracle, which has been charged by what was
// admitted; free is what it had before.
func exact(t *testing.T, c *counter, o oracle.Oracle, v Verdict, now, cost, free int64) {
	t.Helper()
	units, _ := c.rule.Quota()
	if v.OK != (cost <= free) {
		t.Errorf("cost %d is admitted: %v, where %d are free", cost, v.OK, free)
		return
	}
	left := o.Free(now)
	if want := max(0, left); v.Remaining != want {
		t.Errorf("%d remain, want %d", v.Remaining, want)
	}
	switch {
	case v.OK:
		if v.RetryAfter != 0 {
			t.Errorf("admitted, and retry after %d", v.RetryAfter)
		}
	case cost > units:
		if v.RetryAfter != Forever {
			t.Errorf("cost %d of at most %d may be retried after %d", cost, units, v.RetryAfter)
		}
	default:
		firstAt(t, o, "retry", now, v.RetryAfter, cost)
	}
	if left == units {
		if v.NextAfter != 0 || v.ResetAfter != 0 {
			t.Errorf("the cell is empty, but %+v", v)
		}
		return
	}
	firstAt(t, o, "next", now, v.NextAfter, v.Remaining+1)
	firstAt(t, o, "reset", now, v.ResetAfter, units)
}

// firstAt asserts that units are free after that wait and not a microsecond
// sooner.
func firstAt(t *testing.T, o oracle.Oracle, what string, now, wait, units int64) {
	t.Helper()
	if wait <= 0 {
		t.Errorf("%s after %d", what, wait)
	} else if soon, then := o.Free(now+wait-1), o.Free(now+wait); soon >= units || then < units {
		t.Errorf("%s after %d: %d are free then and %d sooner, want %d", what, wait, then, soon, units)
	}
}

// Debt delays as much as the oracle says, however much it is, and time pays it.
// Counting a refusal on top of it pays nothing.
func TestDebtIsExact(t *testing.T) {
	histories(t, func(t *testing.T, h *history) {
		c, o := h.counter(t), oracleOf(t, h.strategy, h.rate, h.phase)
		units, _ := c.rule.Quota()
		var v Verdict
		for now, step := h.begin(), 0; step < 40 && !t.Failed(); step++ {
			wait, cost := h.next(c, v)
			if now += wait; now > epoch+1<<50 {
				break
			}
			if step%5 == 4 && c.peek(now, 0).ResetAfter < 1<<48 {
				debt := h.rng.Int64N(units+1) + 1
				c.settle(now, Receipt{}, debt)
				o.Debt(now, debt)
			}
			free := o.Free(now)
			if v = c.take(now, cost, OnAdmit); v.OK {
				o.Charge(now, cost)
			}
			exact(t, c, o, v, now, cost, free)
			if !v.OK && step%3 == 0 {
				c.charge(now, cost)
				o.Charge(now, cost)
			}
		}
	})
}

// Being refused often delays nobody longer than being full does.
func TestCountingRefusalsNeverDelaysBeyondFull(t *testing.T) {
	histories(t, func(t *testing.T, h *history) {
		c := h.counter(t)
		units, _ := c.rule.Quota()
		var v Verdict
		for now, step := h.begin(), 0; step < 60 && !t.Failed(); step++ {
			wait, cost := h.next(c, v)
			if now += wait; now > epoch+1<<50 {
				break
			}
			v = c.take(now, cost, Always)
			full := h.counter(t)
			full.charge(now, units)
			for _, cost := range []int64{1, units/2 + 1, units} {
				if w, most := c.peek(now, cost).RetryAfter, full.peek(now, cost).RetryAfter; w > most {
					t.Errorf("cost %d waits %d, in a full cell %d", cost, w, most)
				}
			}
		}
	})
}
