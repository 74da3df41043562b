package core

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stint-go/stint/internal/oracle"
)

// A history is a bound strategy under one schedule.
type history struct {
	name     string
	strategy Strategy
	rate     Rate
	phase    int64
	schedule oracle.Schedule
	rng      *rand.Rand
}

func (h *history) counter(t testing.TB) *counter {
	c := newCounter(t, h.strategy, h.rate)
	c.phase = h.phase
	return c
}

// next is the next request, given the last verdict.
func (h *history) next(c *counter, last Verdict) (wait, cost int64) {
	units, window := c.rule.Quota()
	return h.schedule(h.rng, oracle.View{Units: units, Window: window, Remaining: last.Remaining,
		NextAfter: last.NextAfter, RetryAfter: last.RetryAfter, ResetAfter: last.ResetAfter})
}

// begin is an instant to start at, sometimes just before an edge.
func (h *history) begin() int64 {
	if h.rng.IntN(2) == 0 {
		return epoch + h.rng.Int64N(h.rate.Window.Microseconds())
	}
	return Staggered.end(epoch, h.phase, h.rate.Window.Microseconds()) - 1
}

// histories runs f for all strategies, limits, windows and schedules.
func histories(t *testing.T, f func(t *testing.T, h *history)) {
	limits := []int64{1, 2, 3, 7, 1_000_000, 1_000_000_000}
	windows := []time.Duration{time.Millisecond, 7919 * time.Microsecond, time.Second, time.Hour, 366 * 24 * time.Hour}
	for name, s := range strategies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := 0
			rng := rand.New(rand.NewPCG(1, uint64(len(name))))
			for _, limit := range limits {
				for _, window := range windows {
					rate := per(limit, window)
					if _, err := s.Bind(rate); err != nil {
						continue // a log of 10^9 entries; a burst that takes centuries
					}
					for _, kind := range slices.Sorted(maps.Keys(oracle.Schedules)) {
						h := &history{kind, s, rate, rng.Int64N(window.Microseconds()), oracle.Schedules[kind], rng}
						f(t, h)
						ran++
						if t.Failed() {
							t.Fatalf("%s, %d per %v, %s, phase %d", name, limit, window, kind, h.phase)
						}
					}
				}
			}
			if want := 75; ran < want {
				t.Errorf("%d histories ran, want %d at least", ran, want)
			}
		})
	}
}
