package advise

import (
	"slices"
	"time"

	"github.com/stint-go/stint/core"
)

// Advice is what to do, and what it is based on.
type Advice struct {
	Windows []*Window
	// Best is the window to limit: the shortest one in which somebody stands out,
	// because it stops them soonest and forgives soonest; otherwise the minute, or
	// the middle one.
	Best *Window
	// Strategies are what each would do with the limit of Best.
	Strategies []Alternative
}

// An Alternative is what a strategy would do.
type Alternative struct {
	Name             string
	Honest, Outlying Effect
	Err              error // it can not have this limit
}

// A Named strategy.
type Named struct {
	Name     string
	Strategy core.Strategy
}

// Give looks at the traffic. At most the share refuse of the honest requests is to
// be refused; s is the strategy that the limits are chosen for.
func (t *Traffic) Give(windows []time.Duration, s core.Strategy, refuse float64, others []Named) (*Advice, error) {
	a := new(Advice)
	from, to := t.span()
	first, second := t.split(from + (to-from)/2)
	for _, length := range windows {
		w := t.Look(length)
		for i, part := range []*Window{w, first.Look(length), second.Look(length)} {
			limit, err := part.choose(s, refuse)
			if err != nil {
				return nil, err
			}
			if w.Limit = max(w.Limit, limit); i > 0 {
				w.Halves[i-1] = limit
			}
		}
		if err := w.try(s); err != nil {
			return nil, err
		}
		a.Windows = append(a.Windows, w)
	}
	a.Best = best(a.Windows)
	for _, o := range others {
		alt := Alternative{Name: o.Name}
		if alt.Honest, alt.Err = effect(o.Strategy, a.Best.Limit, a.Best.Length, a.Best.honest()); alt.Err == nil {
			alt.Outlying, alt.Err = effect(o.Strategy, a.Best.Limit, a.Best.Length, a.Best.Outliers)
		}
		a.Strategies = append(a.Strategies, alt)
	}
	return a, nil
}

// choose finds the smallest round limit that refuses no more of the honest requests
// than wanted.
func (w *Window) choose(s core.Strategy, refuse float64) (int64, error) {
	least, most := int64(1), max(1, w.Max)
	for least < most {
		middle := least + (most-least)/2
		e, err := effect(s, middle, w.Length, w.honest())
		if err != nil {
			return 0, err
		}
		if e.Share() <= refuse {
			most = middle
		} else {
			least = middle + 1
		}
	}
	return round(least), nil
}

// try says what the limit does.
func (w *Window) try(s core.Strategy) (err error) {
	if w.Honest, err = effect(s, w.Limit, w.Length, w.honest()); err == nil {
		w.Outlying, err = effect(s, w.Limit, w.Length, w.Outliers)
	}
	return err
}

// round is the next number that people write: limits of a log's exact figures
// would promise more than one log can know.
func round(n int64) int64 {
	if n <= 10 {
		return n
	}
	for unit := int64(1); ; unit *= 10 {
		for _, m := range []int64{10, 12, 15, 20, 25, 30, 40, 50, 60, 80} {
			if v := m * unit; v >= n {
				return v
			}
		}
	}
}

func best(windows []*Window) *Window {
	for _, w := range windows {
		if len(w.Outliers) > 0 {
			return w
		}
	}
	if i := slices.IndexFunc(windows, func(w *Window) bool { return w.Length == time.Minute }); i >= 0 {
		return windows[i]
	}
	return windows[len(windows)/2]
}

func (t *Traffic) span() (from, to int64) {
	for i, k := range t.Keys {
		first, last := k.Uses[0].At, k.Uses[len(k.Uses)-1].At
		if i == 0 {
			from, to = first, last
		}
		from, to = min(from, first), max(to, last)
	}
	return from, to
}

// split is the traffic before and from an instant on.
func (t *Traffic) split(at int64) (before, after *Traffic) {
	before, after = new(Traffic), new(Traffic)
	for _, k := range t.Keys {
		i, _ := slices.BinarySearchFunc(k.Uses, at, func(u Use, at int64) int { return int(min(max(u.At-at, -1), 1)) })
		for i > 0 && k.Uses[i-1].At >= at {
			i--
		}
		if i > 0 {
			before.Keys = append(before.Keys, &Key{k.Name, k.Uses[:i], k.phase})
		}
		if i < len(k.Uses) {
			after.Keys = append(after.Keys, &Key{k.Name, k.Uses[i:], k.phase})
		}
	}
	return before, after
}
