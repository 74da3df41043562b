package core

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A schedule chooses the next request of a history: how long after the last one
// and at which cost, knowing the last verdict.
type schedule func(rng *rand.Rand, c *counter, last Verdict) (wait, cost int64)

var schedules = map[string]schedule{
	// random: anything, most often about a third of what there is.
	"random": func(rng *rand.Rand, c *counter, last Verdict) (wait, cost int64) {
		units, window := c.rule.Quota()
		wait = rng.Int64N(window) >> rng.IntN(20)
		return wait, rng.Int64N(max(units, 1)+1) >> rng.IntN(10)
	},
	// edge: just at, before and after the instants that mean something.
	"edge": func(rng *rand.Rand, c *counter, last Verdict) (wait, cost int64) {
		units, window := c.rule.Quota()
		waits := []int64{0, 1, window, window - 1, window / 10, window / 2, 2*window - 1,
			last.NextAfter, last.NextAfter - 1, last.RetryAfter, last.RetryAfter - 1, last.RetryAfter + 1,
			last.ResetAfter, last.ResetAfter - 1, 3 * last.ResetAfter / 2}
		costs := []int64{0, 1, 1, 2, units / 2, units - 1, units, units + 1, last.Remaining, last.Remaining + 1}
		if wait = waits[rng.IntN(len(waits))]; wait < 0 || wait > 3*MaxWindow { // such as after Forever
			wait = 1
		}
		return wait, max(0, costs[rng.IntN(len(costs))])
	},
	// greedy: all that there is, as soon as there is something.
	"greedy": func(_ *rand.Rand, c *counter, last Verdict) (wait, cost int64) {
		if last.Remaining > 0 {
			return 0, last.Remaining
		}
		return last.NextAfter, 1
	},
}

// A history is a bound strategy under one schedule.
type history struct {
	name     string
	strategy Strategy
	rate     Rate
	phase    int64
	schedule schedule
	rng      *rand.Rand
}

func (h *history) counter(t testing.TB) *counter {
	c := newCounter(t, h.strategy, h.rate)
	c.phase = h.phase
	return c
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
					for _, kind := range slices.Sorted(maps.Keys(schedules)) {
						h := &history{kind, s, rate, rng.Int64N(window.Microseconds()), schedules[kind], rng}
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

// most is the largest number of units charged in a half-open interval of that
// length, over all intervals. The log is in the order of time.
func most(log []charged, length int64) (most int64) {
	var sum int64
	first := 0
	for _, c := range log {
		sum += c.units
		for log[first].at <= c.at-length {
			sum -= log[first].units
			first++
		}
		most = max(most, sum)
	}
	return most
}
