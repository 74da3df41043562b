package core

import "math/bits"

// SlidingWindow counts the current window and the one before, and takes as used
// the current units plus the earlier ones in proportion to how much of their
// window still lies within the last W: floor(prev*(W-e)/W) + cur, where e is the
// time since the current window began. The usual choice, and the default.
//
// Bound: at most 2N units in any interval of length W, and N per window. Proof:
// such an interval meets at most two windows, and each admits at most N. For an
// interval of length L <= W the bound is below N(1+L/W) + 1, close to N where L
// is short: meanwhile the weight of what was admitted before falls by L/W at
// most, and the floor hides less than one unit.
//
// State: the end of the current window, its units, and those of the one before.
//
// Ancestors: the sliding window counter of limits; httprate, which rounds where
// this rounds down.
type SlidingWindow struct {
	// Align is Staggered or Clock; FirstHit is an error.
	Align Align
}

const slidingName = "sliding-window"

// Name implements Strategy.
func (SlidingWindow) Name() string { return slidingName }

// Bind implements Strategy.
func (w SlidingWindow) Bind(rate Rate) (Rule, error) {
	if w.Align > Clock {
		complain, complaints := complaintsOf(slidingName)
		complain("alignment %v is not possible: use Staggered or Clock", w.Align)
		return nil, complaints()
	}
	b, err := bind(slidingName, "sliding-"+w.Align.String(), rate)
	if err != nil {
		return nil, err
	}
	return &slidingRule{b, w.Align}, nil
}

// slidingRule keeps [end of the current window, its units, those of the one
// before].
type slidingRule struct {
	bound
	align Align
}

func (r *slidingRule) Words() int { return 3 }

// pair is a slidingRule's state as seen from an instant in its current window.
type pair struct{ end, cur, prev int64 }

func (r *slidingRule) at(s State, now, phase int64) pair {
	switch end := s[0]; {
	case now < end:
		return pair{end, s[1], s[2]}
	case end > 0 && now < end+r.window:
		return pair{end + r.window, 0, s[1]}
	}
	return pair{end: r.align.end(now, phase, r.window)}
}

// used is what p counts at now. A now before the window counts as its begin.
func (r *slidingRule) used(p pair, now int64) int64 {
	if p.prev == 0 {
		return p.cur
	}
	rest := min(p.end-now, r.window)
	hi, lo := bits.Mul64(uint64(p.prev), uint64(rest))
	weighted, _ := bits.Div64(hi, lo, uint64(r.window)) // at most prev, so it fits
	return int64(weighted) + p.cur
}

// fits is the first instant at which p counts at most room units, given that it
// counts more now. In the window that ends at end that is where
// floor(prev*(end-t)/W) <= room-cur, so prev*(end-t) < (room-cur+1)*W.
func (r *slidingRule) fits(p pair, room int64) int64 {
	if p.cur > room { // not before the next window
		p = pair{p.end + r.window, 0, p.cur}
	}
	hi, lo := bits.Mul64(uint64(room-p.cur+1), uint64(r.window))
	lo, borrow := bits.Sub64(lo, 1, 0)
	rest, _ := bits.Div64(hi-borrow, lo, uint64(p.prev)) // below W, since prev > room-cur
	return p.end - int64(rest)
}

func (r *slidingRule) Decide(s State, now, phase, cost int64) (v Judgement) {
	if r.limit == 0 {
		return refuseAll()
	}
	p := r.at(s, now, phase)
	used := r.used(p, now)
	switch {
	case cost <= r.limit-used:
		v.OK = true
		used += cost
		p.cur += cost
	case cost > r.limit:
		v.RetryAfter = Forever
	default:
		v.RetryAfter = r.fits(p, r.limit-cost) - now
	}
	v.Remaining = max(0, r.limit-used)
	if used > 0 {
		v.NextAfter = r.fits(p, min(used, r.limit)-1) - now
		v.ResetAfter = r.fits(p, 0) - now
	}
	return v
}

// Charge's receipt is the end of the window.
func (r *slidingRule) Charge(s State, now, phase, cost int64) (State, Receipt) {
	p := r.at(s, now, phase)
	n := fill(p.cur, cost, r.limit)
	if n == 0 {
		return s, Receipt{}
	}
	s[0], s[1], s[2] = p.end, p.cur+n, p.prev
	if n < cost {
		return s, Receipt{}
	}
	return s, Receipt{A: p.end}
}

func (r *slidingRule) Settle(s State, now, phase int64, rc Receipt, delta int64) State {
	switch {
	case delta > 0:
		p := r.at(s, now, phase)
		s[0], s[1], s[2] = p.end, p.cur+owed(p.cur, delta), p.prev
	case delta == 0 || rc.A == 0:
	case rc.A == s[0]:
		s[1] -= refunded(s[1], delta)
	case rc.A == s[0]-r.window:
		s[2] -= refunded(s[2], delta)
	}
	if s[1]|s[2] == 0 {
		s[0] = 0
	}
	return s
}

// Until is where the weighted units are rounded down to 0 for good.
func (r *slidingRule) Until(s State) int64 {
	if s[1]|s[2] == 0 {
		return 0
	}
	return r.fits(pair{s[0], s[1], s[2]}, 0)
}
