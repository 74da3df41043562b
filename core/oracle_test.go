package core

import (
	"math/big"
	"testing"
)

// An oracle is a strategy once more, written for obviousness: it remembers what
// was charged when and adds up, with numbers of any size. It knows no clock that
// goes back, no receipts and no expiry.
type oracle interface {
	// charge counts units, and what of them the strategy counts when it refused
	// them.
	charge(at, units int64)
	// debt counts units beyond any limit.
	debt(at, units int64)
	// free is the largest cost admitted at that instant; negative in debt.
	free(now int64) int64
}

func oracleOf(t testing.TB, s Strategy, r Rate, phase int64) oracle {
	t.Helper()
	n, w := r.Limit, r.Window.Microseconds()
	if a := alignOf(s); a == Clock {
		phase = 0
	}
	switch s := s.(type) {
	case FixedWindow:
		if s.Align == FirstHit {
			return &firstOracle{n: n, w: w}
		}
		return &rowOracle{n: n, length: w, row: 1, phase: phase, units: map[int64]int64{}}
	case BucketedWindow:
		p := precisionOf(t, s, r)
		row := w/p + 1
		if s.Inclusive {
			row--
		}
		return &rowOracle{n: n, length: p, row: row, phase: phase, units: map[int64]int64{}}
	case SlidingWindow:
		return &slidingOracle{rowOracle{n: n, length: w, row: 1, phase: phase, units: map[int64]int64{}}}
	case MovingWindow:
		return &logOracle{n: n, w: w}
	case GCRA:
		c := s.Burst
		if c == 0 {
			c = n
		}
		o := &bucketOracle{full: big.NewRat(c, n), unit: big.NewRat(w, n), tat: new(big.Rat)}
		o.full.Mul(o.full, big.NewRat(w, 1))
		return o
	}
	t.Fatalf("no oracle for %s", s.Name())
	return nil
}

func alignOf(s Strategy) Align {
	switch s := s.(type) {
	case FixedWindow:
		return s.Align
	case BucketedWindow:
		return s.Align
	case SlidingWindow:
		return s.Align
	}
	return Staggered
}

// precisionOf is the sub-window of the bound strategy.
func precisionOf(t testing.TB, s BucketedWindow, r Rate) int64 {
	return newCounter(t, s, r).rule.(*bucketRule).precision
}

// rowOracle counts in a row of windows by number and sums the last ones.
type rowOracle struct {
	n, length, row, phase int64
	units                 map[int64]int64
}

func (o *rowOracle) index(at int64) int64 { return (at - o.phase + o.length) / o.length }

func (o *rowOracle) charge(at, units int64) {
	i := o.index(at)
	o.units[i] += max(0, min(units, o.n-o.units[i]))
}

func (o *rowOracle) debt(at, units int64) { o.units[o.index(at)] += units }

func (o *rowOracle) free(now int64) int64 {
	free, last := o.n, o.index(now)
	for i := last - o.row + 1; i <= last; i++ {
		free -= o.units[i]
	}
	return free
}

// slidingOracle weighs the window before in exact fractions.
type slidingOracle struct{ rowOracle }

func (o *slidingOracle) free(now int64) int64 {
	i := o.index(now)
	elapsed := (now - o.phase + o.length) % o.length
	weighted := new(big.Int).Mul(big.NewInt(o.units[i-1]), big.NewInt(o.length-elapsed))
	weighted.Quo(weighted, big.NewInt(o.length))
	return o.n - o.units[i] - weighted.Int64()
}

// firstOracle finds the windows by reading the log from its beginning.
type firstOracle struct {
	n, w int64
	log  []charged
}

type charged struct{ at, units int64 }

func (o *firstOracle) used(now int64) (used int64) {
	var end int64
	for _, c := range o.log {
		if c.at >= end {
			end, used = c.at+o.w, 0
		}
		used += c.units
	}
	if now >= end {
		return 0
	}
	return used
}

func (o *firstOracle) charge(at, units int64) {
	if units = min(units, o.n-o.used(at)); units > 0 {
		o.debt(at, units)
	}
}

func (o *firstOracle) debt(at, units int64) { o.log = append(o.log, charged{at, units}) }
func (o *firstOracle) free(now int64) int64 { return o.n - o.used(now) }

// logOracle is the moving window over a plain log. No more than n instants are
// told apart: debt that would be one more joins the newest and takes it along.
type logOracle struct {
	n, w int64
	log  []charged
}

func (o *logOracle) charge(at, units int64) {
	if units = min(units, o.n); units == 0 {
		return
	}
	o.log = append(o.log, charged{at, units})
	for excess := -o.free(at); excess > 0; {
		for len(o.log) > 0 && o.log[0].at <= at-o.w {
			o.log = o.log[1:]
		}
		d := min(excess, o.log[0].units)
		o.log[0].units -= d
		if excess -= d; o.log[0].units == 0 {
			o.log = o.log[1:]
		}
	}
}

func (o *logOracle) debt(at, units int64) {
	instants := map[int64]bool{}
	for _, c := range o.log {
		if c.at > at-o.w && c.units > 0 {
			instants[c.at] = true
		}
	}
	if int64(len(instants)) >= o.n {
		newest := o.log[len(o.log)-1].at
		for i := range o.log {
			if o.log[i].at == newest {
				o.log[i].at = at
			}
		}
	}
	o.log = append(o.log, charged{at, units})
}

func (o *logOracle) free(now int64) int64 {
	free := o.n
	for _, c := range o.log {
		if c.at > now-o.w {
			free -= c.units
		}
	}
	return free
}

// bucketOracle is a token bucket in fractions.
type bucketOracle struct{ full, unit, tat *big.Rat }

// backlog is what of the TAT lies after now.
func (o *bucketOracle) backlog(now int64) *big.Rat {
	b := new(big.Rat).Sub(o.tat, new(big.Rat).SetInt64(now))
	if b.Sign() < 0 {
		b.SetInt64(0)
	}
	return b
}

func (o *bucketOracle) charge(at, units int64) {
	before := o.backlog(at)
	after := new(big.Rat).Mul(o.unit, new(big.Rat).SetInt64(units))
	after.Add(after, before)
	if after.Cmp(o.full) > 0 {
		after.Set(o.full)
	}
	if after.Cmp(before) < 0 {
		after.Set(before)
	}
	o.tat = after.Add(after, new(big.Rat).SetInt64(at))
}

func (o *bucketOracle) debt(at, units int64) {
	more := new(big.Rat).Mul(o.unit, new(big.Rat).SetInt64(units))
	more.Add(more, o.backlog(at))
	o.tat = more.Add(more, new(big.Rat).SetInt64(at))
}

func (o *bucketOracle) free(now int64) int64 {
	f := new(big.Rat).Sub(o.full, o.backlog(now))
	f.Quo(f, o.unit)
	q := new(big.Int)
	q.Div(f.Num(), f.Denom()) // Euclidean: down, since the denominator is positive
	return q.Int64()
}
