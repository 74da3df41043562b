package core

import "math/bits"

// GCRA admits a burst of up to C units and then one unit every T = W/N: a token
// bucket of C tokens that refills evenly. The smallest state, and the smoothest
// traffic. It is exact for every N and W: no interval is rounded.
//
// A cell remembers its theoretical arrival time TAT, the instant at which all
// that was charged has been worked off at one unit per T. A cost c is admitted
// where max(TAT, now) + c*T <= now + C*T.
//
// Bound: at most C+N-1 units in any (half-open) interval of length W, so with
// C = 1 at most N. Proof: let the first charge in it happen at t and the last
// one within less than W later. Each unit adds T to the TAT, which was at least
// t before the first and is at most C*T past the instant of the last one: so
// k*T < W + C*T = (N+C)*T. Reached by a full burst and then a unit every T.
//
// State: the TAT in microseconds and N-ths of one; two more words are 0 until a
// charge is refunded that was not the latest.
//
// Ancestors: none; throttled and redis_rate are the best peers.
//
// A refund takes out of the backlog what of the charge is not worked off yet. It
// has no memory of the largest now: refunding after the clock went back by J can
// give back up to J of backlog that time has already worked off. A refund under
// another limit than the charge's is dropped.
type GCRA struct {
	// Burst is the most units admitted at once, in all; 0 means the rate's
	// limit. At most MaxLimit; and Burst*W/N may not exceed 71 years.
	Burst int64
}

const (
	gcraName   = "gcra"
	maxBacklog = 1 << 51   // microseconds: now and the longest burst stay below 2^53
	maxInstant = 1<<53 - 1 // microseconds: where debt stops growing
)

// Name implements Strategy.
func (GCRA) Name() string { return gcraName }

// Divide implements Divisible.
func (g GCRA) Divide(n, least int64) Strategy {
	if g.Burst > 0 { // otherwise it is the limit
		g.Burst = max(g.Burst/n, min(g.Burst, least))
	}
	return g
}

// Bind implements Strategy.
func (g GCRA) Bind(rate Rate) (Rule, error) {
	b, err := bind(gcraName, "gcra", rate)
	if err != nil {
		return nil, err
	}
	complain, complaints := complaintsOf(gcraName)
	if g.Burst < 0 || g.Burst > MaxLimit {
		complain("burst %d is out of range: use 1 to %d, or 0 for the limit", g.Burst, MaxLimit)
		return nil, complaints()
	}
	r := &gcraRule{bound: b}
	if b.limit == 0 {
		return r, nil
	}
	r.burst = g.Burst
	if r.burst == 0 {
		r.burst = b.limit
	}
	r.unit, r.full = r.spanOf(1), r.spanOf(r.burst)
	if r.full.q >= maxBacklog {
		complain("a burst of %d at %d per %v takes more than 71 years to return: lower it",
			r.burst, rate.Limit, rate.Window)
		return nil, complaints()
	}
	return r, nil
}

// gcraRule keeps [q, r, R, M]: TAT = q + r/N; R the microseconds refunded so far
// to others than the latest charge, rounded up; M the latest TAT that such a
// refund met. From max(TAT, M) on every receipt is worthless and R starts anew.
type gcraRule struct {
	bound
	burst      int64
	unit, full span // T and C*T
}

// A span is q + r/N microseconds, 0 <= r < N: a duration or an instant.
type span struct{ q, r int64 }

func (r *gcraRule) add(a, b span) span {
	a.q += b.q
	if a.r += b.r; a.r >= r.limit {
		a.r -= r.limit
		a.q++
	}
	return a
}

func (r *gcraRule) sub(a, b span) span {
	a.q -= b.q
	if a.r -= b.r; a.r < 0 {
		a.r += r.limit
		a.q--
	}
	return a
}

func (a span) less(b span) bool { return a.q < b.q || a.q == b.q && a.r < b.r }

// ceil is the span in whole microseconds, rounded up.
func (a span) ceil() int64 {
	if a.r > 0 {
		return a.q + 1
	}
	return a.q
}

// spanOf is units*W/N, or maxInstant where that is less.
func (r *gcraRule) spanOf(units int64) span {
	if units == 1 && r.unit != (span{}) {
		return r.unit
	}
	hi, lo := bits.Mul64(uint64(units), uint64(r.window))
	if hi >= uint64(r.limit) {
		return span{q: maxInstant}
	}
	q, rem := bits.Div64(hi, lo, uint64(r.limit))
	if q >= maxInstant {
		return span{q: maxInstant}
	}
	return span{int64(q), int64(rem)}
}

// tat reads the state. A fraction written under a larger limit is rounded up.
func (r *gcraRule) tat(s State) span {
	if s[1] >= r.limit {
		return span{q: s[0] + 1}
	}
	return span{s[0], s[1]}
}

// busy is the TAT, or now where that has passed.
func (r *gcraRule) busy(s State, now int64) span {
	if s[0] < now {
		return span{q: now}
	}
	return r.tat(s)
}

func (r *gcraRule) Words() int { return 4 }

func (r *gcraRule) Quota() (units, window int64) {
	if r.limit == 0 {
		return 0, r.window
	}
	return r.burst, r.full.ceil()
}

func (r *gcraRule) Decide(s State, now, _, cost int64) (v Judgement) {
	if r.limit == 0 {
		return refuseAll()
	}
	backlog := r.busy(s, now)
	backlog.q -= now
	if cost > r.burst {
		v.RetryAfter = Forever
	} else if after := r.add(backlog, r.spanOf(cost)); r.full.less(after) {
		v.RetryAfter = r.sub(after, r.full).ceil()
	} else {
		v.OK = true
		backlog = after
	}
	v.Remaining, v.NextAfter = r.room(backlog)
	v.ResetAfter = backlog.ceil()
	return v
}

// room is how many units fit beside the backlog, and when one more does.
func (r *gcraRule) room(backlog span) (units, next int64) {
	if backlog == (span{}) {
		return r.burst, 0
	}
	if r.full.less(backlog) {
		return 0, r.sub(r.add(backlog, r.unit), r.full).ceil()
	}
	free := r.sub(r.full, backlog)
	if r.unit.r == 0 { // whole microseconds per unit, as in most rates: one short division
		n := free.q / r.unit.q
		return n, (n+1)*r.unit.q - free.q
	}
	hi, lo := bits.Mul64(uint64(free.q), uint64(r.limit))
	lo, carry := bits.Add64(lo, uint64(free.r), 0)
	n, rem := bits.Div64(hi+carry, lo, uint64(r.window)) // at most burst, so it fits
	missing := r.window - int64(rem)                     // in N-ths of a microsecond
	return int64(n), (missing + r.limit - 1) / r.limit
}

// Charge's receipt is the TAT after the charge, its fraction with N, and R.
func (r *gcraRule) Charge(s State, now, _, cost int64) (State, Receipt) {
	if cost == 0 || r.limit == 0 {
		return s, Receipt{}
	}
	before := r.busy(s, now)
	after := r.add(before, r.spanOf(min(cost, r.burst)))
	full := r.add(span{q: now}, r.full)
	if full.less(after) || cost > r.burst {
		if full.less(before) {
			full = before
		}
		r.put(s, now, full)
		return s, Receipt{}
	}
	r.put(s, now, after)
	return s, Receipt{after.q, after.r<<32 | r.limit, s[2]}
}

// put writes a later TAT and, where nothing is outstanding, starts R anew.
func (r *gcraRule) put(s State, now int64, tat span) {
	if s[2]|s[3] != 0 && now >= r.Until(s) {
		s[2], s[3] = 0, 0
	}
	s[0], s[1] = tat.q, tat.r
}

func (r *gcraRule) Settle(s State, now, _ int64, rc Receipt, delta int64) State {
	switch {
	case r.limit == 0 || delta == 0:
	case delta > 0:
		tat := r.add(r.busy(s, now), r.spanOf(delta))
		if tat.q >= maxInstant {
			tat = span{q: maxInstant}
		}
		r.put(s, now, tat)
	case rc.A != 0:
		r.refund(s, now, rc, -max(delta, -MaxCount))
	}
	return s
}

// ifLatest makes a receipt of GCRA that is worth something only as long as no
// other charge came after it and nothing was refunded since. It is the same
// receipt with A negative.
func ifLatest(rc Receipt) Receipt {
	rc.A = -rc.A
	return rc
}

// refund takes out what of the charge is still to be worked off: from now to
// where the charge's work ends. That end was the TAT after it, and has come
// closer by at most what was refunded since.
func (r *gcraRule) refund(s State, now int64, rc Receipt, units int64) {
	tat, end := r.tat(s), span{max(rc.A, -rc.A), rc.B >> 32}
	refunded := s[2] - rc.C
	if rc.B&(1<<32-1) != r.limit || refunded < 0 {
		return
	}
	latest := refunded == 0 && end == tat
	if !latest && rc.A < 0 {
		return
	}
	end.q -= refunded
	open := r.sub(end, span{q: now})
	if open.q < 0 || open == (span{}) {
		return
	}
	if back := r.spanOf(units); back.less(open) {
		open = back
	}
	if !latest {
		// The limit of R is centuries of refunds without a pause; past it,
		// nothing more is refunded before the cell is idle.
		if s[2]+open.ceil() > maxInstant {
			return
		}
		s[2] += open.ceil()
		s[3] = max(s[3], tat.ceil())
	}
	tat = r.sub(tat, open)
	s[0], s[1] = tat.q, tat.r
	if r.Until(s) <= now {
		clear(s)
	}
}

func (r *gcraRule) Until(s State) int64 { return max(span{s[0], s[1]}.ceil(), s[3]) }
