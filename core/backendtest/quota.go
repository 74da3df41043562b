package backendtest

import (
	"errors"

	"github.com/stint-go/stint/core"
)

// quota is the strategy of a stranger: a counter per window, the windows
// staggered by the cell's phase. No backend can know its name, so it shows that
// the two methods of core.Strategy are enough; and the suite needs to trust no
// strategy but this one to see where a window ends.
type quota struct{}

func (quota) Name() string { return "backendtest-quota-staggered" }

func (quota) Bind(r core.Rate) (core.Rule, error) {
	if r.Limit < 0 || r.Limit > core.MaxLimit || r.Window <= 0 || r.Window.Microseconds() > core.MaxWindow {
		return nil, errors.New("backendtest-quota: limit or window out of range")
	}
	return quotaRule{limit: r.Limit, window: r.Window.Microseconds()}, nil
}

// quotaRule keeps two words: the end of the window and the units used in it.
// Both are zero when nothing is used.
type quotaRule struct{ limit, window int64 }

func (q quotaRule) Shape() string         { return "backendtest-quota-staggered" }
func (q quotaRule) Quota() (int64, int64) { return q.limit, q.window }
func (q quotaRule) Words() int            { return 2 }

// at returns the window that counts at now: the state's, unless it is over.
func (q quotaRule) at(s core.State, now, phase int64) (end, used int64) {
	if s[0] > now {
		return s[0], s[1]
	}
	gone := (now - phase) % q.window
	if gone < 0 {
		gone += q.window
	}
	return now - gone + q.window, 0
}

func (q quotaRule) Decide(s core.State, now, phase, cost int64) core.Judgement {
	end, used := q.at(s, now, phase)
	v := core.Judgement{OK: cost <= q.limit-used && q.limit > 0}
	if v.OK {
		used += cost
	}
	v.Remaining = max(0, q.limit-used)
	if used > 0 {
		v.NextAfter, v.ResetAfter = end-now, end-now
	}
	if !v.OK {
		v.RetryAfter = end - now
	}
	if !v.OK && cost > q.limit || q.limit == 0 {
		v.RetryAfter = core.Forever
	}
	if q.limit == 0 {
		v.NextAfter = core.Forever
	}
	return v
}

func (q quotaRule) Charge(s core.State, now, phase, cost int64) (core.State, core.Receipt) {
	end, used := q.at(s, now, phase)
	if cost = min(cost, max(0, q.limit-used)); cost == 0 {
		return s, core.Receipt{}
	}
	s[0], s[1] = end, used+cost
	return s, core.Receipt{A: end}
}

func (q quotaRule) Settle(s core.State, now, phase int64, r core.Receipt, delta int64) core.State {
	end, used := q.at(s, now, phase)
	switch {
	case delta < 0 && (used == 0 || r.A != end):
		return s
	case delta < 0:
		used = max(0, used+delta)
	default:
		used = min(used+min(delta, core.MaxCount), core.MaxCount)
	}
	if s[0], s[1] = end, used; used == 0 {
		s[0] = 0
	}
	return s
}

func (q quotaRule) Until(s core.State) int64 { return s[0] }
