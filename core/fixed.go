package core

// FixedWindow counts units in windows that follow one another: at most N per
// window, and with the window's end everything is forgotten. The cheapest
// strategy, and the one whose figures are the easiest to explain.
//
// Bound: at most 2N units in any interval of length W, and 2N-1 with FirstHit.
// Proof: an interval of length W meets at most two windows, each of at most N
// units. With FirstHit an interval that holds all units of a window begins
// before the charge that opened it, and so ends before that window does: it
// meets no other one. Both are reached: N units just before and just after an
// edge.
//
// State: the end of the window and the units used in it.
//
// Ancestors: django-ratelimit (Staggered), the aligned counters of dr-josiah
// (Clock), the fixed window of limits and the Redis counters (FirstHit).
//
// With FirstHit, refunding the whole charge that opened a window while others
// are in it moves the window, which then begins at the refund: without that
// charge it would have begun later than it did, and when is not known. While the
// moved window lasts the cell admits no more than without the charge; the bound
// on what was not refunded holds for ever.
type FixedWindow struct {
	// Align says where windows begin; the zero value is Staggered.
	Align Align
}

const fixedName = "fixed-window"

// Name implements Strategy.
func (FixedWindow) Name() string { return fixedName }

// Bind implements Strategy.
func (f FixedWindow) Bind(rate Rate) (Rule, error) {
	if f.Align > FirstHit {
		complain, complaints := complaintsOf(fixedName)
		complain("alignment %d is unknown: use Staggered, Clock or FirstHit", f.Align)
		return nil, complaints()
	}
	b, err := bind(fixedName, "fixed-"+f.Align.String(), rate)
	if err != nil {
		return nil, err
	}
	return &fixedRule{b, f.Align}, nil
}

// fixedRule keeps [end of the window, units used in it]. Both are 0 in a fresh
// cell; used is never 0 otherwise.
type fixedRule struct {
	bound
	align Align
}

func (r *fixedRule) Words() int { return 2 }

// at is the window that now lies in and what was used of it. A now before that
// window counts as within it.
func (r *fixedRule) at(s State, now, phase int64) (end, used int64) {
	if now < s[0] {
		return s[0], s[1]
	}
	return r.align.end(now, phase, r.window), 0
}

func (r *fixedRule) Decide(s State, now, phase, cost int64) (v Judgement) {
	if r.limit == 0 {
		return refuseAll()
	}
	end, used := r.at(s, now, phase)
	switch {
	case cost <= r.limit-used:
		v.OK = true
		used += cost
	case cost > r.limit:
		v.RetryAfter = Forever
	default:
		v.RetryAfter = end - now
	}
	v.Remaining = max(0, r.limit-used)
	if used > 0 {
		v.NextAfter, v.ResetAfter = end-now, end-now
	}
	return v
}

// Charge's receipt is the window's end and, where without this charge a later
// one might have opened the window, its cost: for all charges of the first
// instant, since each may come to be the last of them.
func (r *fixedRule) Charge(s State, now, phase, cost int64) (State, Receipt) {
	end, used := r.at(s, now, phase)
	n := fill(used, cost, r.limit)
	if n == 0 {
		return s, Receipt{}
	}
	s[0], s[1] = end, used+n
	if n < cost {
		return s, Receipt{}
	}
	rc := Receipt{A: end}
	if r.align == FirstHit && now <= end-r.window {
		rc.B = cost
	}
	return s, rc
}

func (r *fixedRule) Settle(s State, now, phase int64, rc Receipt, delta int64) State {
	if delta > 0 {
		end, used := r.at(s, now, phase)
		s[0], s[1] = end, used+owed(used, delta)
		return s
	}
	if delta == 0 || rc.A == 0 || rc.A != s[0] {
		return s
	}
	s[1] -= refunded(s[1], delta)
	switch {
	case s[1] == 0:
		s[0] = 0
	case -delta == rc.B && now < s[0]: // it begins with a later charge: now is late enough
		s[0] = max(s[0], now+r.window)
	}
	return s
}

func (r *fixedRule) Until(s State) int64 { return s[0] }
