package core

import (
	"strconv"
	"time"
)

// BucketedWindow cuts the window into B = W/p sub-windows of length p, counts
// each, and admits what fits beside the sum of the last ones. A cell is a row of
// counters that moves on with time.
//
// Bound: at most N units in any interval of length W. Proof: such an interval
// meets at most B+1 consecutive sub-windows, and when the last unit in it was
// admitted, the sum over those, its own included, was at most N. The price is
// that capacity returns up to p later than W. With Inclusive only B sub-windows
// are summed: then the bound is N in any interval of length W-p, and 2N in W.
// Both are reached.
//
// State: the end of the newest sub-window and B+1 counters (Inclusive: B).
//
// Ancestors: the 2009 cache class with its counters of minutes (the current one
// and B earlier ones), and dr-josiah's sliding window with precision (Inclusive).
//
// Counting refused requests fills each sub-window to N at most. The sum may then
// pass N, and as long as it does, the cell counts as in debt for cost 0.
type BucketedWindow struct {
	// Precision is the length of a sub-window. It must divide the window; longer
	// than the window means the window. 0 means W/B for the largest B up to 10
	// that divides the window. The Precision of a Rate overrides it.
	Precision time.Duration
	// Inclusive sums B sub-windows with the current one, where otherwise it is
	// the current one and B earlier ones: capacity returns earlier, and the bound
	// in any W is 2N.
	Inclusive bool
	// Align is Staggered or Clock; FirstHit is an error.
	Align Align
}

const (
	bucketedName = "bucketed-window"
	// maxBuckets bounds the state of a cell at 32 KiB.
	maxBuckets = 4096
)

// Name implements Strategy.
func (BucketedWindow) Name() string { return bucketedName }

// Bind implements Strategy.
func (b BucketedWindow) Bind(rate Rate) (Rule, error) {
	base, err := bind(bucketedName, "", rate)
	if err != nil {
		return nil, err
	}
	complain, complaints := complaintsOf(bucketedName)
	if b.Align > Clock {
		complain("alignment %v is not possible: use Staggered or Clock", b.Align)
	}
	precision := b.Precision
	if rate.Precision != 0 {
		precision = rate.Precision
	}
	p := base.window
	switch {
	case precision < 0:
		complain("precision %v is negative: use 0 for the default", precision)
	case precision == 0:
		p = defaultPrecision(base.window)
	case precision < rate.Window && rate.Window%precision != 0:
		complain("precision %v does not divide the window %v: choose one that does", precision, rate.Window)
	case precision < rate.Window && precision%time.Microsecond != 0:
		complain("precision %v is not a whole number of microseconds: round it", precision)
	case precision < rate.Window && rate.Window/precision > maxBuckets:
		complain("precision %v makes %d sub-windows: %d are possible, make it longer",
			precision, rate.Window/precision, maxBuckets)
	case precision < rate.Window:
		p = precision.Microseconds()
	}
	if err := complaints(); err != nil {
		return nil, err
	}
	kind, counters := "bucket-", int(base.window/p)+1
	if b.Inclusive {
		kind, counters = "bucketi-", counters-1
	}
	base.shape = kind + strconv.FormatInt(p, 10) + "-" + b.Align.String()
	return &bucketRule{base, b.Align, p, counters}, nil
}

// defaultPrecision is the finest of at most ten sub-windows.
func defaultPrecision(window int64) int64 {
	for b := int64(10); ; b-- {
		if window%b == 0 {
			return window / b
		}
	}
}

// bucketRule keeps [end of the newest bucket, its units, those of the one
// before, ...]: counters in all, of which a Decide later than the end still
// looks at the live ones. A fresh cell is all zero; no other one is.
type bucketRule struct {
	bound
	align     Align
	precision int64
	counters  int
}

func (r *bucketRule) Words() int { return 1 + r.counters }

// live is the part of the counters that still counts at now, newest first.
func (r *bucketRule) live(s State, now int64) []int64 {
	if now < s[0] {
		return s[1:]
	}
	age := (now-s[0])/r.precision + 1
	return s[1 : 1+max(0, int64(r.counters)-age)]
}

// end is the end of the bucket that a charge at now goes to, where live still counts.
func (r *bucketRule) end(s State, live []int64, now, phase int64) int64 {
	if len(live) == 0 || s[0] == 0 {
		return r.align.end(now, phase, r.precision)
	}
	return s[0] + int64(r.counters-len(live))*r.precision
}

// gone is the instant from which on a bucket of that end no longer counts.
func (r *bucketRule) gone(end int64) int64 { return end + int64(r.counters-1)*r.precision }

func (r *bucketRule) Decide(s State, now, phase, cost int64) (v Judgement) {
	if r.limit == 0 {
		return refuseAll()
	}
	live := r.live(s, now)
	used := sum(live)
	v.OK = cost <= r.limit-used
	if v.OK && cost > 0 {
		v.Remaining = r.limit - used - cost
		reset := r.gone(r.end(s, live, now, phase)) - now
		v.NextAfter, v.ResetAfter = reset, reset
		if used > 0 {
			v.NextAfter = r.freed(s, live, 1) - now
		}
		return v
	}
	v.Remaining = max(0, r.limit-used)
	if cost > r.limit {
		v.RetryAfter = Forever
	} else if !v.OK {
		v.RetryAfter = r.freed(s, live, used+cost-r.limit) - now
	}
	if used > 0 {
		v.NextAfter = r.freed(s, live, used-min(used, r.limit)+1) - now
		v.ResetAfter = r.Until(s) - now
	}
	return v
}

// freed is the instant from which on need of the live units, the oldest, no
// longer count.
func (r *bucketRule) freed(s State, live []int64, need int64) int64 {
	i := len(live) - 1
	for ; i > 0; i-- {
		if need -= live[i]; need <= 0 {
			break
		}
	}
	return r.gone(s[0] - int64(i)*r.precision)
}

// advance moves the counters on to the bucket of now.
func (r *bucketRule) advance(s State, now, phase int64) {
	live := r.live(s, now)
	s[0] = r.end(s, live, now, phase)
	if age := r.counters - len(live); age > 0 {
		copy(s[1+age:], live)
		clear(s[1 : 1+age])
	}
}

// Charge's receipt is the end of the bucket.
func (r *bucketRule) Charge(s State, now, phase, cost int64) (State, Receipt) {
	if cost == 0 || r.limit == 0 {
		return s, Receipt{}
	}
	r.advance(s, now, phase)
	n := fill(s[1], cost, r.limit)
	s[1] += n
	if n < cost {
		return s, Receipt{}
	}
	return s, Receipt{A: s[0]}
}

func (r *bucketRule) Settle(s State, now, phase int64, rc Receipt, delta int64) State {
	switch {
	case delta > 0:
		r.advance(s, now, phase)
		s[1] += owed(sum(s[1:]), delta) // the sum is bounded, not just the counter: no sum can overflow
	case delta < 0 && rc.A != 0:
		r.refund(s, rc.A, delta)
	}
	return s
}

// refund takes units from the bucket of that end, if the state still has it.
func (r *bucketRule) refund(s State, end, delta int64) {
	i := (s[0] - end) / r.precision
	if end > s[0] || i >= int64(r.counters) || s[0]-i*r.precision != end {
		return
	}
	s[1+i] -= refunded(s[1+i], delta)
	if r.Until(s) == 0 {
		clear(s)
	}
}

func (r *bucketRule) Until(s State) int64 {
	for i, units := range s[1:] {
		if units > 0 {
			return r.gone(s[0] - int64(i)*r.precision)
		}
	}
	return 0
}

func sum(counters []int64) (n int64) {
	for _, c := range counters {
		n += c
	}
	return n
}
