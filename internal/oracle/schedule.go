package oracle

import "math/rand/v2"

// A View is what a client sees: the quota, and the last verdict. Durations are
// microseconds.
type View struct {
	Units, Window                                int64
	Remaining, NextAfter, RetryAfter, ResetAfter int64
}

// A Schedule chooses the next request of a history: how long after the last one
// and at which cost.
type Schedule func(rng *rand.Rand, v View) (wait, cost int64)

// longest is the longest wait, such as after a refusal that no waiting ends.
const longest = 3 * 366 * 86400 * 1e6

// Schedules are those that there are, by name.
var Schedules = map[string]Schedule{
	// random: anything, most often about a third of what there is.
	"random": func(rng *rand.Rand, v View) (wait, cost int64) {
		wait = rng.Int64N(v.Window) >> rng.IntN(20)
		return wait, rng.Int64N(max(v.Units, 1)+1) >> rng.IntN(10)
	},
	// edge: just at, before and after the instants that mean something.
	"edge": func(rng *rand.Rand, v View) (wait, cost int64) {
		waits := []int64{0, 1, v.Window, v.Window - 1, v.Window / 10, v.Window / 2, 2*v.Window - 1,
			v.NextAfter, v.NextAfter - 1, v.RetryAfter, v.RetryAfter - 1, v.RetryAfter + 1,
			v.ResetAfter, v.ResetAfter - 1, 3 * v.ResetAfter / 2}
		costs := []int64{0, 1, 1, 2, v.Units / 2, v.Units - 1, v.Units, v.Units + 1, v.Remaining, v.Remaining + 1}
		if wait = waits[rng.IntN(len(waits))]; wait < 0 || wait > longest {
			wait = 1
		}
		return wait, max(0, costs[rng.IntN(len(costs))])
	},
	// greedy: all that there is, as soon as there is something.
	"greedy": func(_ *rand.Rand, v View) (wait, cost int64) {
		if v.Remaining > 0 {
			return 0, v.Remaining
		}
		return v.NextAfter, 1
	},
}
