package core

import (
	"math/big"
	"testing"
	"time"
)

// bound is the most units that the strategy admits in any half-open interval of
// that length: what its documentation states for length W, and for every other.
func boundOf(t testing.TB, s Strategy, r Rate, length int64) *big.Int {
	n, w := r.Limit, r.Window.Microseconds()
	up := func(a, b int64) int64 { return (a + b - 1) / b }
	times := func(n, k int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(k)) }
	switch s := s.(type) {
	case FixedWindow:
		most := times(n, up(length, w)+1)
		if s.Align == FirstHit {
			most.Sub(most, big.NewInt(1))
		}
		return most
	case BucketedWindow:
		p := precisionOf(t, s, r)
		row := w/p + 1
		if s.Inclusive {
			row--
		}
		return times(n, up(up(length, p)+1, row))
	case SlidingWindow:
		if length > w {
			return times(n, up(length, w)+1)
		}
		weighted := times(n, length)
		weighted.Add(weighted, big.NewInt(w-1))
		weighted.Quo(weighted, big.NewInt(w))
		return weighted.Add(weighted, big.NewInt(n))
	case MovingWindow:
		return times(n, up(length, w))
	case GCRA:
		c := s.Burst
		if c == 0 {
			c = n
		}
		units := times(n, length)
		units.Add(units, big.NewInt(w-1))
		units.Quo(units, big.NewInt(w))
		return units.Add(units, big.NewInt(c-1))
	}
	t.Fatalf("no bound for %s", s.Name())
	return nil
}

// lengths are those of the intervals that the bounds are checked for.
func lengths(t testing.TB, s Strategy, r Rate) []int64 {
	w := r.Window.Microseconds()
	p := w / 10
	if b, ok := s.(BucketedWindow); ok {
		p = precisionOf(t, b, r)
	}
	l := []int64{p, w, 2 * w, 10 * w}
	if w > p {
		l = append(l, w-p)
	}
	return l
}

func TestBoundsHold(t *testing.T) {
	histories(t, func(t *testing.T, h *history) {
		c := h.counter(t)
		var log []charged
		var v Verdict
		for now, step := h.begin(), 0; step < 300; step++ {
			wait, cost := h.schedule(h.rng, c, v)
			if now += wait; now > epoch+1<<50 {
				break
			}
			if v = c.take(now, cost, OnAdmit); v.OK {
				log = append(log, charged{now, cost})
			}
		}
		for _, length := range lengths(t, h.strategy, h.rate) {
			if got, want := most(log, length), boundOf(t, h.strategy, h.rate, length); want.Cmp(big.NewInt(got)) < 0 {
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
				log := []charged{}
				take := func(units int64) {
					if v := c.take(now, units, OnAdmit); !v.OK {
						t.Fatalf("%d units refused", units)
					}
					log = append(log, charged{now, units})
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
				for _, length := range lengths(t, s, rate) {
					got, want := most(log, length), boundOf(t, s, rate, length).Int64()
					if name := s.Name(); got > want || got < want && (name != slidingName || got < want-1) {
						t.Errorf("limit %d: %d units in an interval of %d µs, the bound is %d", limit, got, length, want)
					}
				}
			}
		})
	}
}
