package core

import (
	"math/big"
	"testing"
	"time"

	"github.com/stint-go/stint/internal/oracle"
)

func TestBoundsHold(t *testing.T) {
	histories(t, func(t *testing.T, h *history) {
		c := h.counter(t)
		var log []oracle.Charge
		var v Verdict
		for now, step := h.begin(), 0; step < 300; step++ {
			wait, cost := h.next(c, v)
			if now += wait; now > epoch+1<<50 {
				break
			}
			if v = c.take(now, cost, OnAdmit); v.OK {
				log = append(log, oracle.Charge{At: now, Units: cost})
			}
		}
		rule := ruleOf(t, h.strategy, h.rate)
		for _, length := range oracle.Lengths(rule) {
			if got, want := oracle.Most(log, length), oracle.Bound(rule, length); want.Cmp(big.NewInt(got)) < 0 {
				t.Errorf("%d units in an interval of %d µs, the bound is %d", got, length, want)
			}
		}
	})
}

// The greedy client takes all there is as soon as there is any, from just before
// an edge on. It reaches every bound; the sliding window's to one unit.
func TestBoundsAreReached(t *testing.T) {
	for name, s := range strategies {
		t.Run(name, func(t *testing.T) {
			for _, limit := range []int64{1, 2, 7, 100} {
				rate := per(limit, 700*time.Millisecond)
				w := rate.Window.Microseconds()
				c := newCounter(t, s, rate)
				now := epoch/w*w + w - 1
				log := []oracle.Charge{}
				take := func(units int64) {
					if v := c.take(now, units, OnAdmit); !v.OK {
						t.Fatalf("%d units refused", units)
					}
					log = append(log, oracle.Charge{At: now, Units: units})
				}
				if alignOf(s) == FirstHit { // the opener outside, the others just before the end
					take(1)
					if now += w - 1; limit > 1 {
						take(limit - 1)
					}
				}
				for end := now + 25*w; now < end; now += c.peek(now, 0).NextAfter {
					if units := c.peek(now, 0).Remaining; units > 0 {
						take(units)
					}
				}
				rule := ruleOf(t, s, rate)
				for _, length := range oracle.Lengths(rule) {
					got, want := oracle.Most(log, length), oracle.Bound(rule, length).Int64()
					if name := s.Name(); got > want || got < want && (name != slidingName || got < want-1) {
						t.Errorf("limit %d: %d units in an interval of %d µs, the bound is %d", limit, got, length, want)
					}
				}
			}
		})
	}
}
