package core

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

// A clock that goes back frees nothing: what a state refuses at the largest
// instant that it was charged at, it refuses at any earlier one; and a charge
// made at an earlier one weighs no less than one made at the largest.
func TestBackwardClockFreesNothing(t *testing.T) {
	histories(t, func(t *testing.T, h *history) {
		c := h.counter(t)
		steady := c.clone() // charged alike, but with a clock that stands still instead
		window := h.rate.Window.Microseconds()
		now, latest := h.begin(), int64(0)
		for range 60 {
			now += h.rng.Int64N(window) >> h.rng.IntN(8)
			if h.rng.IntN(3) == 0 {
				now = max(epoch, now-h.rng.Int64N(2*window))
			}
			at := max(now, latest)
			for _, cost := range costsOf(c) {
				v, w := c.peek(now, cost), steady.peek(at, cost)
				if v.OK && !w.OK || v.Remaining > w.Remaining && v.OK == w.OK {
					t.Fatalf("cost %d, %d µs back: %+v, at the latest instant %+v", cost, at-now, v, w)
				}
				if wait := v.RetryAfter; !v.OK && wait != Forever &&
					(!c.peek(now+wait, cost).OK || c.peek(now+wait-1, cost).OK) {
					t.Fatalf("cost %d, %d µs back: wrong promise %+v", cost, at-now, v)
				}
			}
			units, _ := c.rule.Quota()
			if cost := h.rng.Int64N(units+1) >> h.rng.IntN(4); c.peek(now, cost).OK && cost > 0 {
				c.charge(now, cost)
				steady.charge(at, cost)
				latest = at
			}
		}
	})
}

// within asserts what holds for every state and verdict.
func within(t testing.TB, c *counter, v Verdict) {
	t.Helper()
	units, _ := c.rule.Quota()
	if v.Remaining < 0 || v.Remaining > units || v.RetryAfter < 0 || v.NextAfter < 0 || v.ResetAfter < 0 {
		t.Fatalf("verdict out of range: %+v", v)
	}
	if words := c.rule.Words(); words != 0 && len(c.state) != words {
		t.Fatalf("%d words, want %d", len(c.state), words)
	}
	for _, word := range c.state {
		if word < 0 || word > 1<<53-1 {
			t.Fatalf("word out of range: %v", c.state)
		}
	}
}

// Whatever the cost, nothing overflows.
func TestExtremeCosts(t *testing.T) {
	histories(t, func(t *testing.T, h *history) {
		units, window := h.counter(t).rule.Quota()
		costs := []int64{0, 1, units - 1, units, units + 1, 1 << 31, MaxCount, 1 << 53, math.MaxInt64 - 1, math.MaxInt64}
		for _, cost := range costs {
			c := h.counter(t)
			now := h.begin()
			for i := range 4 {
				v := c.take(now, cost, Always)
				if i == 0 && v.OK != (cost <= units) {
					t.Fatalf("cost %d of %d: %+v", cost, units, v)
				}
				within(t, c, v)
				c.settle(now, Receipt{}, cost)
				within(t, c, c.peek(now, cost))
				now += window / 3
				c.settle(now, v.Receipt, -cost)
				c.settle(now, Receipt{A: now}, math.MinInt64)
				within(t, c, c.peek(now, cost))
			}
			for _, at := range []int64{1, now, now + window, now + MaxWindow} {
				within(t, c, c.peek(at, 1))
			}
		}
	})
}

// A new limit goes on from what is consumed: nothing breaks, and no instant
// admits more than the new quota.
func TestLimitChangesOnTheWay(t *testing.T) {
	for name, s := range strategies {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(2, uint64(len(name))))
			for range 300 {
				window := time.Duration(rng.Int64N(1<<20)+1000) * time.Microsecond
				if b, ok := s.(BucketedWindow); ok { // one shape for all limits
					window = window / 10000 * 10000
					window = max(window, time.Millisecond)
					b.Precision = 0
				}
				c := newCounter(t, s, per(5, window))
				shape := c.rule.Shape()
				var receipts []Receipt
				for now, step := epoch, 0; step < 40; step++ {
					limits := []int64{0, 1, 2, 5, 1000, 1 << 20}
					rule, err := s.Bind(per(limits[rng.IntN(len(limits))], window))
					if err != nil || rule.Shape() != shape {
						t.Fatalf("shape %s became %v, %v", shape, rule, err)
					}
					c.rule = rule
					now += rng.Int64N(window.Microseconds()) >> rng.IntN(6)
					units, _ := rule.Quota()
					c.reclaim(now)
					before := c.peek(now, 0).Remaining
					admitted := int64(0)
					for range 3 {
						cost := rng.Int64N(units+2) >> rng.IntN(4)
						v := c.take(now, cost, When(rng.IntN(3)))
						within(t, c, v)
						if v.OK && v.Charged {
							admitted += cost
						}
						receipts = append(receipts, v.Receipt)
					}
					if admitted > before || before > units {
						t.Fatalf("%d admitted at once where %d remained of %d", admitted, before, units)
					}
					c.settle(now, receipts[rng.IntN(len(receipts))], -1)
					c.settle(now, Receipt{}, rng.Int64N(3))
					within(t, c, c.peek(now, 1))
				}
			}
		})
	}
}

// Limit 0 refuses everything for ever, cost 0 too, and keeps no state.
func TestLimitZero(t *testing.T) {
	for name, s := range strategies {
		c := newCounter(t, s, per(0, time.Second))
		for _, cost := range []int64{0, 1, math.MaxInt64} {
			v := c.take(epoch, cost, Always)
			if want := (Verdict{Judgement: refuseAll(), Charged: true}); v != want {
				t.Errorf("%s: cost %d: %+v", name, cost, v)
			}
		}
		if units, window := c.rule.Quota(); units != 0 || window != sec {
			t.Errorf("%s: quota %d per %d", name, units, window)
		}
		if c.rule.Until(c.state) != 0 {
			t.Errorf("%s: state %v", name, c.state)
		}
	}
}

// The intervals are the exact fractions, and the room is the exact floor.
func TestGCRAArithmetic(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	limits := []int64{1, 2, 3, 7, 1_000_000, 1_000_000_000, MaxLimit}
	for range 20_000 {
		n, w := limits[rng.IntN(len(limits))], 1000+rng.Int64N(MaxWindow-1000)>>rng.IntN(35)
		burst := 1 + rng.Int64N(MaxLimit)>>rng.IntN(31)
		bound, err := GCRA{Burst: burst}.Bind(Rate{Limit: n, Window: time.Duration(w) * time.Microsecond})
		full := new(big.Rat).Mul(big.NewRat(burst, n), big.NewRat(w, 1))
		if tooLong := full.Cmp(big.NewRat(maxBacklog, 1)) >= 0; tooLong != (err != nil) {
			t.Fatalf("%d of %d per %d µs: %v", burst, n, w, err)
		} else if tooLong {
			continue
		}
		r := bound.(*gcraRule)
		exactly := func(s span) *big.Rat {
			return new(big.Rat).Add(big.NewRat(s.q, 1), big.NewRat(s.r, n))
		}
		units := 1 + rng.Int64N(burst)
		span := r.spanOf(units)
		want := new(big.Rat).Mul(big.NewRat(units, n), big.NewRat(w, 1))
		if exactly(span).Cmp(want) != 0 || span.r < 0 || span.r >= n {
			t.Fatalf("%d units of %d per %d µs: %+v, want %v", units, n, w, span, want)
		}
		free, _ := r.room(span)
		if free != burst-units {
			t.Fatalf("%d of %d units used, %d are free", units, burst, free)
		}
	}
}

// A cell whose charges are refunded again and again, without a pause, never
// leaves the range; where the sum of refunds would, refunds end, not limits.
func TestGCRAEndlessRefunds(t *testing.T) {
	c := newCounter(t, GCRA{Burst: 3}, per(1, time.Duration(MaxWindow)*time.Microsecond))
	c.take(epoch, 1, OnAdmit)
	for i := range 1000 {
		first, second := c.take(epoch, 1, OnAdmit), c.take(epoch, 1, OnAdmit)
		if !first.OK || !second.OK { // refunds have ended
			if i < 100 {
				t.Fatalf("refunds ended after %d rounds", i)
			}
			return
		}
		c.settle(epoch, first.Receipt, -1) // not the latest one
		c.settle(epoch, second.Receipt, -1)
		within(t, c, c.peek(epoch, 1))
	}
	t.Error("the sum of refunds has no limit")
}

// Debt in each of very many counters does not overflow their sum.
func TestDebtInManyBuckets(t *testing.T) {
	c := newCounter(t, BucketedWindow{Precision: time.Millisecond}, per(1, 4096*time.Millisecond))
	now := epoch
	for ; now < epoch+4097*ms; now += ms {
		c.settle(now, Receipt{}, math.MaxInt64)
		if v := c.peek(now, 1); v.OK {
			t.Fatalf("admitted in debt: %+v", v)
		}
	}
}

// The first second of 1970 is an instant like any other.
func TestSmallInstants(t *testing.T) {
	for name, s := range strategies {
		c, d := newCounter(t, s, per(2, 10*time.Second)), newCounter(t, s, per(2, 10*time.Second))
		c.phase, d.phase = 3300*ms, 3300*ms
		for _, at := range []int64{1, 2 * sec, 5 * sec, 11 * sec, 12 * sec, 40 * sec} {
			v, w := c.take(at, 1, OnAdmit), d.take(epoch+at, 1, OnAdmit)
			if v.Receipt, w.Receipt = (Receipt{}), (Receipt{}); v != w {
				t.Errorf("%s: at %d: %+v, want %+v", name, at, v, w)
			}
		}
	}
}
