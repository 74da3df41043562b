package core

import "slices"

// A Program is what one of this package's rules does, as numbers: for backends
// that run a translation of the arithmetic where the state lives (Lua in Redis).
// Equal Programs decide alike. It is comparable.
type Program struct {
	Strategy      string // Strategy.Name
	Align         Align
	Limit, Window int64 // units, microseconds
	Burst         int64 // units; GCRA only, 0 where Limit is
	Precision     int64 // microseconds; BucketedWindow only
	Counters      int   // how many sub-windows are summed; BucketedWindow only
	// Of a Ban, in microseconds: the length of the first one, that of the longest,
	// and the time until those before are forgiven. Limit strikes within Window
	// lead to one.
	BanFirst, BanLongest, BanForgive int64
}

// A Programmed rule has a Program. All rules of this package's strategies are
// Programmed; rules of others need not be, and a backend then applies them by
// compare-and-swap.
type Programmed interface{ Program() Program }

// Program implements Programmed.
func (r *fixedRule) Program() Program {
	return Program{Strategy: fixedName, Align: r.align, Limit: r.limit, Window: r.window}
}

// Program implements Programmed.
func (r *slidingRule) Program() Program {
	return Program{Strategy: slidingName, Align: r.align, Limit: r.limit, Window: r.window}
}

// Program implements Programmed.
func (r *bucketRule) Program() Program {
	return Program{Strategy: bucketedName, Align: r.align, Limit: r.limit, Window: r.window,
		Precision: r.precision, Counters: r.counters}
}

// Program implements Programmed.
func (r *movingRule) Program() Program {
	return Program{Strategy: movingName, Limit: r.limit, Window: r.window}
}

// Program implements Programmed.
func (r *gcraRule) Program() Program {
	return Program{Strategy: gcraName, Limit: r.limit, Window: r.window, Burst: r.burst}
}

// Program implements Programmed. A ban set by hand has none: it is rare.
func (r *banRule) Program() Program {
	return Program{Strategy: banName, Align: FirstHit, Limit: r.after, Window: r.within,
		BanFirst: r.first, BanLongest: r.longest, BanForgive: r.forgive}
}

// LogState is MovingWindow's state of a log given as pairs of a stamp and the
// units charged then, oldest first: for backends that keep the log in a form of
// their own. Neighbours of one stamp become one entry; no pairs are the empty
// state.
func LogState(pairs []int64) State {
	var log ring
	for p := range slices.Chunk(pairs, 2) {
		log.add(p[0], p[1], ringMax)
	}
	return log.close()
}

// LogPairs is the log in a state of MovingWindow, as LogState takes it.
func LogPairs(s State) []int64 {
	log := openRing(s)
	var pairs []int64
	for i := range log.n {
		pairs = append(pairs, log.stamp(i), *log.unitsAt(i))
	}
	return pairs
}
