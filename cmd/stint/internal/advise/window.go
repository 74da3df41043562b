package advise

import (
	"cmp"
	"slices"
	"time"
)

// A Window is how much keys asked for in their busiest interval of one length.
type Window struct {
	Length        time.Duration
	P50, P90, P99 int64
	Max           int64
	// Outliers are the keys that stand out: see outliers.
	Outliers []Peak
	// Limit refuses at most the wanted share of the honest requests: of all of them,
	// and of those of either half of the time, which would have Halves by itself. So
	// one log's luck does not make the limit.
	Limit  int64
	Halves [2]int64
	// Honest and Outlying are what that limit does to either.
	Honest, Outlying Effect

	keys []Peak // by how much, the most first
}

// A Peak is a key and its busiest interval.
type Peak struct {
	Key   *Key
	Units int64
}

// Look measures one window.
func (t *Traffic) Look(length time.Duration) *Window {
	w := &Window{Length: length}
	for _, k := range t.Keys {
		w.keys = append(w.keys, Peak{k, k.Peak(length.Microseconds())})
	}
	slices.SortStableFunc(w.keys, func(a, b Peak) int { return cmp.Compare(b.Units, a.Units) })
	w.P50, w.P90, w.P99, w.Max = w.share(50), w.share(90), w.share(99), w.share(100)
	w.Outliers = w.keys[:outliers(w.keys)]
	return w
}

// share is what so many percent of the keys stay within.
func (w *Window) share(percent int) int64 {
	n := len(w.keys)
	if n == 0 {
		return 0
	}
	return w.keys[n-max(1, (n*percent+99)/100)].Units
}

// What stands out.
const (
	gapNumerator, gapDenominator = 3, 2 // half as much again as the next one
	leastOutlier                 = 10   // units: below that, everything is chance
	outlierShare                 = 100  // at most one key in so many
)

// outliers is how many of the keys stand out: those above the widest gap among the
// hundredth of the keys that ask most, where it is half as much again. They are
// looked at by hand, and a limit is not made for them. Where there is no such gap,
// the traffic goes over smoothly from the modest to the greedy, and nobody stands
// out.
func outliers(keys []Peak) (n int) {
	widest := 0.0
	for i := range min(max(1, len(keys)/outlierShare), len(keys)-1) {
		above, below := keys[i].Units, keys[i+1].Units
		gap := float64(above) / float64(below)
		if above >= leastOutlier && above*gapDenominator >= below*gapNumerator && gap >= widest {
			n, widest = i+1, gap
		}
	}
	return n
}

// honest are the keys that do not stand out.
func (w *Window) honest() []Peak { return w.keys[len(w.Outliers):] }
