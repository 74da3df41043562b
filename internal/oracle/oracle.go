// Package oracle is the strategies once more, written for obviousness rather than
// speed: it remembers what was charged when and adds up, with numbers of any size.
// It knows no clock that goes back, no receipts and no expiry, and nothing of the
// code that it judges. Beside the decisions it has the bound on every strategy,
// and the schedules of requests that try to pass it.
package oracle

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// A Rule is what an Oracle needs to know of a strategy that is bound to a rate.
// Shape is core.Rule's: strategy, precision and alignment. Burst is the most units
// at once, which differs from Limit for GCRA alone. Window is in microseconds.
type Rule struct {
	Shape                string
	Limit, Window, Burst int64
}

// An Oracle is one cell.
type Oracle interface {
	// Charge counts units, and what of them the strategy counts when it refused
	// them.
	Charge(at, units int64)
	// Debt counts units beyond any limit.
	Debt(at, units int64)
	// Free is the largest cost admitted at that instant; negative in debt.
	Free(now int64) int64
}

// Of is the oracle of a rule for a cell of that phase. It panics for a shape that
// it does not know.
func Of(r Rule, phase int64) Oracle {
	kind, precision, align := r.parse()
	if align == "clock" {
		phase = 0
	}
	switch {
	case kind == "fixed" && align == "first":
		return &firstHit{n: r.Limit, w: r.Window}
	case kind == "fixed":
		return &rows{n: r.Limit, length: r.Window, row: 1, phase: phase, units: map[int64]int64{}}
	case kind == "bucket" || kind == "bucketi":
		return &rows{n: r.Limit, length: precision, row: r.row(), phase: phase, units: map[int64]int64{}}
	case kind == "sliding":
		return &sliding{rows{n: r.Limit, length: r.Window, row: 1, phase: phase, units: map[int64]int64{}}}
	case kind == "moving":
		return &entries{n: r.Limit, w: r.Window}
	}
	o := &tokens{full: big.NewRat(r.Burst, r.Limit), unit: big.NewRat(r.Window, r.Limit), tat: new(big.Rat)}
	o.full.Mul(o.full, big.NewRat(r.Window, 1))
	return o
}

// parse takes a shape apart: "bucket-6000000-staggered", "fixed-first", "gcra".
func (r Rule) parse() (kind string, precision int64, align string) {
	kind, rest, _ := strings.Cut(r.Shape, "-")
	align = rest
	switch kind {
	case "fixed", "sliding", "moving", "gcra":
	case "bucket", "bucketi":
		var text string
		text, align, _ = strings.Cut(rest, "-")
		var err error
		if precision, err = strconv.ParseInt(text, 10, 64); err != nil {
			panic(fmt.Sprintf("oracle: shape %q: %v", r.Shape, err))
		}
	default:
		panic(fmt.Sprintf("oracle: unknown shape %q", r.Shape))
	}
	return kind, precision, align
}

// row is how many sub-windows are summed.
func (r Rule) row() int64 {
	kind, precision, _ := r.parse()
	n := r.Window / precision
	if kind == "bucket" {
		n++
	}
	return n
}

// rows counts in a row of windows by number and sums the last ones.
type rows struct {
	n, length, row, phase int64
	units                 map[int64]int64
}

func (o *rows) index(at int64) int64 { return (at - o.phase + o.length) / o.length }

func (o *rows) Charge(at, units int64) {
	i := o.index(at)
	o.units[i] += max(0, min(units, o.n-o.units[i]))
}

func (o *rows) Debt(at, units int64) { o.units[o.index(at)] += units }

func (o *rows) Free(now int64) int64 {
	free, last := o.n, o.index(now)
	for i := last - o.row + 1; i <= last; i++ {
		free -= o.units[i]
	}
	return free
}

// sliding weighs the window before in exact fractions.
type sliding struct{ rows }

func (o *sliding) Free(now int64) int64 {
	i := o.index(now)
	elapsed := (now - o.phase + o.length) % o.length
	weighted := new(big.Int).Mul(big.NewInt(o.units[i-1]), big.NewInt(o.length-elapsed))
	weighted.Quo(weighted, big.NewInt(o.length))
	return o.n - o.units[i] - weighted.Int64()
}

// firstHit finds the windows by reading the log from its beginning.
type firstHit struct {
	n, w int64
	log  []Charge
}

func (o *firstHit) used(now int64) (used int64) {
	var end int64
	for _, c := range o.log {
		if c.At >= end {
			end, used = c.At+o.w, 0
		}
		used += c.Units
	}
	if now >= end {
		return 0
	}
	return used
}

func (o *firstHit) Charge(at, units int64) {
	if units = min(units, o.n-o.used(at)); units > 0 {
		o.Debt(at, units)
	}
}

func (o *firstHit) Debt(at, units int64) { o.log = append(o.log, Charge{at, units}) }
func (o *firstHit) Free(now int64) int64 { return o.n - o.used(now) }

// entries is the moving window over a plain log. No more than n instants are
// told apart: debt that would be one more joins the newest and takes it along.
type entries struct {
	n, w int64
	log  []Charge
}

func (o *entries) Charge(at, units int64) {
	if units = min(units, o.n); units == 0 {
		return
	}
	o.log = append(o.log, Charge{at, units})
	for excess := -o.Free(at); excess > 0; {
		for len(o.log) > 0 && o.log[0].At <= at-o.w {
			o.log = o.log[1:]
		}
		d := min(excess, o.log[0].Units)
		o.log[0].Units -= d
		if excess -= d; o.log[0].Units == 0 {
			o.log = o.log[1:]
		}
	}
}

func (o *entries) Debt(at, units int64) {
	instants := map[int64]bool{}
	for _, c := range o.log {
		if c.At > at-o.w && c.Units > 0 {
			instants[c.At] = true
		}
	}
	if int64(len(instants)) >= o.n {
		newest := o.log[len(o.log)-1].At
		for i := range o.log {
			if o.log[i].At == newest {
				o.log[i].At = at
			}
		}
	}
	o.log = append(o.log, Charge{at, units})
}

func (o *entries) Free(now int64) int64 {
	free := o.n
	for _, c := range o.log {
		if c.At > now-o.w {
			free -= c.Units
		}
	}
	return free
}

// tokens is a token bucket in fractions.
type tokens struct{ full, unit, tat *big.Rat }

// backlog is what of the TAT lies after now.
func (o *tokens) backlog(now int64) *big.Rat {
	b := new(big.Rat).Sub(o.tat, new(big.Rat).SetInt64(now))
	if b.Sign() < 0 {
		b.SetInt64(0)
	}
	return b
}

func (o *tokens) Charge(at, units int64) {
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

func (o *tokens) Debt(at, units int64) {
	more := new(big.Rat).Mul(o.unit, new(big.Rat).SetInt64(units))
	more.Add(more, o.backlog(at))
	o.tat = more.Add(more, new(big.Rat).SetInt64(at))
}

func (o *tokens) Free(now int64) int64 {
	f := new(big.Rat).Sub(o.full, o.backlog(now))
	f.Quo(f, o.unit)
	q := new(big.Int)
	q.Div(f.Num(), f.Denom()) // Euclidean: down, since the denominator is positive
	return q.Int64()
}
