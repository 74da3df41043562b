package core

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stint-go/stint/internal/oracle"
)

// Refunded at its own instant with nothing between, a charge leaves no trace in
// any later decision, however often that is done.
func TestRefundAtOnceRestoresEverything(t *testing.T) {
	histories(t, func(t *testing.T, h *history) {
		c := h.counter(t)
		var v Verdict
		for now, step := h.begin(), 0; step < 60 && !t.Failed(); step++ {
			wait, cost := h.next(c, v)
			if now += wait; now > epoch+1<<50 {
				break
			}
			before := c.clone()
			for range 20 {
				if v = c.take(now, cost, OnAdmit); v.OK {
					c.settle(now, v.Receipt, -cost)
				}
			}
			alike(t, h.rng, before, c, now)
			v = c.take(now, cost, OnAdmit)
		}
	})
}

// alike asserts that two counters decide the same now and later.
func alike(t *testing.T, rng *rand.Rand, a, b *counter, now int64) {
	t.Helper()
	for _, at := range later(rng, a, b, now) {
		for _, cost := range costsOf(a) {
			if v, w := a.peek(at, cost), b.peek(at, cost); v != w {
				t.Fatalf("cost %d after %d: %+v and %+v", cost, at-now, v, w)
			}
		}
	}
}

func costsOf(c *counter) []int64 {
	units, _ := c.rule.Quota()
	return []int64{0, 1, units/2 + 1, units}
}

// later is a choice of instants at which two counters may differ.
func later(rng *rand.Rand, a, b *counter, now int64) []int64 {
	units, window := a.rule.Quota()
	at := []int64{now, now + 1, now + window, now + rng.Int64N(2*window), now + rng.Int64N(window)/100}
	for _, c := range []*counter{a, b} {
		v := c.peek(now, units)
		for _, wait := range []int64{v.NextAfter, v.RetryAfter, v.ResetAfter} {
			at = append(at, now+max(0, wait-1), now+wait)
		}
	}
	return at
}

// An event of a history with refunds: a charge, and what of it was given back.
type event struct {
	at, cost, refunded int64
	receipt            Receipt
}

// replayed is the counterfactual: the same charges without what was refunded,
// in a store that forgets states at Until.
func replayed(c *counter, events []event) *counter {
	r := &counter{c.rule, make(State, c.rule.Words()), c.phase}
	for _, e := range events {
		r.reclaim(e.at)
		r.charge(e.at, e.cost-e.refunded)
	}
	return r
}

// However charges and refunds follow one another, the cell never admits more
// than if what was refunded had never been charged.
//
// First-hit windows are compared as far as they can be: without its opener, a
// window begins elsewhere, and so do all that follow. So a refund that came too
// late is left out, and after the end of a window that a refund moved only the
// bound on what was kept is left to hold.
func TestRefundsNeverAdmitMore(t *testing.T) {
	histories(t, func(t *testing.T, h *history) {
		for range 4 {
			c := h.counter(t)
			var events []event
			var open []int // charges not settled
			var v Verdict
			var moved int64 // end of a moved first-hit window
			for now, step := h.begin(), 0; step < 50 && !t.Failed(); step++ {
				wait, cost := h.next(c, v)
				if now += min(wait, h.rate.Window.Microseconds()/3); now > epoch+1<<50 {
					break
				}
				c.reclaim(now)
				if v = c.take(now, cost, OnAdmit); v.OK && cost > 0 {
					open = append(open, len(events))
					events = append(events, event{now, cost, 0, v.Receipt})
				}
				for range h.rng.IntN(3) {
					if len(open) == 0 {
						break
					}
					i := h.rng.IntN(len(open))
					e := &events[open[i]]
					open = slices.Delete(open, i, i+1)
					if e.refunded = e.cost; h.rng.IntN(3) == 0 {
						e.refunded = h.rng.Int64N(e.cost + 1)
					}
					before := slices.Clone(c.state)
					c.settle(now, e.receipt, -e.refunded)
					if alignOf(h.strategy) != FirstHit {
						continue
					}
					if slices.Equal(c.state, before) {
						e.refunded = 0
					} else if c.state[0] > before[0] && (moved == 0 || now < moved) {
						moved = c.state[0]
					}
				}
				if moved == 0 || now < moved {
					noMore(t, h.rng, c, replayed(c, events), now, moved)
				}
			}
			keptWithinBound(t, h, events)
		}
	})
}

// noMore asserts that c admits no more and no sooner than the counterfactual,
// up to the instant until (0: for ever).
func noMore(t *testing.T, rng *rand.Rand, c, without *counter, now, until int64) {
	t.Helper()
	for _, at := range later(rng, c, without, now) {
		if until != 0 && at >= until {
			continue
		}
		for _, cost := range costsOf(c) {
			v, w := c.peek(at, cost), without.peek(at, cost)
			sooner := v.RetryAfter < w.RetryAfter && (until == 0 || at+v.RetryAfter < until)
			if v.OK && !w.OK || v.OK == w.OK && v.Remaining > w.Remaining || sooner {
				t.Fatalf("cost %d after %d: %+v, without what was refunded %+v", cost, at-now, v, w)
			}
		}
	}
}

// keptWithinBound asserts the strategy's bound for what was not refunded.
func keptWithinBound(t *testing.T, h *history, events []event) {
	t.Helper()
	var log []oracle.Charge
	for _, e := range events {
		log = append(log, oracle.Charge{At: e.at, Units: e.cost - e.refunded})
	}
	rule := ruleOf(t, h.strategy, h.rate)
	for _, length := range oracle.Lengths(rule) {
		if got, want := oracle.Most(log, length), oracle.Bound(rule, length); want.Cmp(big.NewInt(got)) < 0 {
			t.Errorf("%d units kept in an interval of %d µs, the bound is %d", got, length, want)
		}
	}
}

// What is no longer in the state is not given back; the zero receipt never is.
func TestRefundOfThePastIsDropped(t *testing.T) {
	histories(t, func(t *testing.T, h *history) {
		c := h.counter(t)
		units, window := c.rule.Quota()
		now := h.begin()
		old := c.take(now, units, OnAdmit)
		now += 2*window + 2
		c.take(now, units, OnAdmit)
		before := c.clone()
		c.settle(now, old.Receipt, -units)
		c.settle(now, Receipt{}, -units)
		alike(t, h.rng, before, c, now)
	})
}

// What still counts is given back, also where time has moved on.
func TestRefundLater(t *testing.T) {
	for name, want := range map[string]int64{ // free half a window after 10 of 10, once 4 of them are refunded
		"fixed-first":      4,
		"bucket-clock":     4,
		"bucket-inclusive": 4,
		"moving":           4,
		"gcra":             9, // half of it worked off, and 4 of the other half given back
	} {
		c := newCounter(t, strategies[name], per(10, 10*time.Second))
		v := c.take(epoch, 10, OnAdmit)
		c.settle(epoch+5*sec, v.Receipt, -4)
		if got := c.peek(epoch+5*sec, 0).Remaining; got != want {
			t.Errorf("%s: %d are free, want %d", name, got, want)
		}
	}
	c := newCounter(t, SlidingWindow{}, per(10, 10*time.Second))
	v := c.take(epoch+9*sec, 10, OnAdmit)
	c.take(epoch+15*sec, 1, OnAdmit)
	c.settle(epoch+15*sec, v.Receipt, -4)
	if got := c.peek(epoch+15*sec, 0).Remaining; got != 6 { // 10 - 6/2 - 1
		t.Errorf("%d are free, want 6", got)
	}
}

// A charge that was cut short, as of a refused request in a full cell, has no
// receipt: what it would have to undo is not known.
func TestChargeCutShortHasNoReceipt(t *testing.T) {
	for name, s := range strategies {
		c := newCounter(t, s, per(6, time.Second))
		units, _ := c.rule.Quota()
		c.take(epoch, units-units/2, OnAdmit)
		if rc := c.charge(epoch, units); rc != (Receipt{}) {
			t.Errorf("%s: %v", name, rc)
		}
		if rc := newCounter(t, s, per(6, time.Second)).charge(epoch, units+1); rc != (Receipt{}) {
			t.Errorf("%s: above the quota: %v", name, rc)
		}
	}
}

// Refunded in full, a cell is a fresh one, so that stores can drop it.
func TestRefundOfAllLeavesAFreshCell(t *testing.T) {
	for name, s := range strategies {
		c := newCounter(t, s, per(6, time.Second))
		units, _ := c.rule.Quota()
		v := c.take(epoch, units, OnAdmit)
		c.settle(epoch, v.Receipt, -units)
		if fresh := newCounter(t, s, per(6, time.Second)).state; !slices.Equal(c.state, fresh) {
			t.Errorf("%s: %v", name, c.state)
		}
	}
}
