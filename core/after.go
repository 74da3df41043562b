package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// after is what a policy does when the response is known.
type after struct {
	reserve  bool
	inFlight bool
	countIf  func(Request, int) bool
	resetIf  func(Request, int) bool
	failures bool // are what the ban counts
}

// waits reports whether there is something to do for whom is still on his way.
func (a *after) waits() bool { return a.inFlight || a.asksStatus() }

// asksStatus reports whether the status of the response decides something.
func (a *after) asksStatus() bool { return a.countIf != nil || a.resetIf != nil }

// OnStatus is for Policy.CountIf and Policy.ResetIf: the response has one of these
// statuses, as in OnStatus(401, 403), or one of a class: 4 is 400 to 499. It panics
// where a number is neither, or there is none, when the program starts.
func OnStatus(statuses ...int) func(Request, int) bool {
	if len(statuses) == 0 {
		panic("stint: OnStatus(): name the statuses, as none would never be met")
	}
	for _, s := range statuses {
		if (s < 1 || s > 5) && (s < 100 || s > 599) {
			panic(fmt.Sprintf("stint: OnStatus(%d): use a status from 100 to 599, or a class from 1 to 5", s))
		}
	}
	statuses = slices.Clone(statuses)
	return func(_ Request, status int) bool {
		return slices.Contains(statuses, status) || slices.Contains(statuses, status/100)
	}
}

func allPolicies(*policy) bool         { return true }
func (p *policy) reserves() bool       { return p.after.reserve }
func (p *policy) waitsForAnswer() bool { return p.after.waits() }

// setAfter reads the settings, which must fit together.
func (p *policy) setAfter(in *Policy) error {
	p.after = after{reserve: in.Reserve, countIf: in.CountIf, resetIf: in.ResetIf,
		failures: in.Ban != nil && in.Ban.Failures}
	_, p.after.inFlight = in.Strategy.(endsLater)
	var errs []error
	bad := func(is bool, text string) {
		if is {
			errs = append(errs, errors.New(text))
		}
	}
	a := &p.after
	bad(a.reserve && a.countIf != nil, "Reserve and CountIf both settle what was charged: keep one")
	bad(a.inFlight && (a.reserve || a.countIf != nil), "InFlight gives back what was charged when the request ends: leave Reserve and CountIf out")
	bad(a.inFlight && a.resetIf != nil, "InFlight: ResetIf would forget what still runs: leave it out")
	bad(a.inFlight && in.CountDenied, "InFlight counts what runs, and what is refused does not: leave CountDenied out")
	bad(a.failures && a.countIf == nil, "Ban.Failures: say what a failure is with CountIf, for example core.OnStatus(401)")
	bad((in.Mode == Shadow || in.Candidate != nil) && (a.reserve || a.waits()),
		"a shadow, or a candidate, does not see how a request ends: leave Reserve, CountIf, ResetIf and InFlight out")
	return errors.Join(errs...)
}

// Waits reports whether something depends on the status of the response, so that
// the adapter has to find it out and to call Finish.
func (v *Visit) Waits() bool {
	return slices.ContainsFunc(v.held, func(h held) bool { return h.quota.policy.after.asksStatus() })
}

// Finish settles a request whose response is known: adapters call it with the
// status that the client gets, after the framework's own error handling, where
// Waits says so. n may be another Native than Enter's, of the same request. A
// handler that panics has no status: Leave does then what must be done in any case.
// No panic of the application's functions passes Finish.
//
// To a client that has hung up nothing is given back, and nothing is forgotten. It
// has where the context of Enter's Native has ended: one that the application has
// put in its place may end with the handler.
func (v *Visit) Finish(n Native, status int) {
	list := v.held
	v.held = nil
	if len(list) == 0 {
		return
	}
	l := v.limiter
	counts, resets := l.outcome(n, status, list)
	gone := v.ctx.Err() != nil
	var s settlement
	var cells []Cell
	for _, h := range list {
		p := h.quota.policy
		switch {
		case h.quota.ban:
			if p.after.failures && slices.Contains(counts, p) {
				s.add(h, 1)
			}
		case p.after.inFlight, p.after.countIf != nil && !gone && !slices.Contains(counts, p):
			s.giveBack(h)
		}
		if !gone && slices.Contains(resets, p) {
			cells = append(cells, h.ask.Cell)
		}
	}
	ctx := context.WithoutCancel(v.ctx)
	if err := errors.Join(s.settle(ctx, l), l.reset(ctx, cells)); err != nil {
		l.failed("", fmt.Errorf("settling: %w", err))
	}
}

// outcome asks the policies whether the response counts, and whether it resets.
// Where such a function panics, the response counts.
func (l *Limiter) outcome(n Native, status int, list []held) (counts, resets []*policy) {
	c := l.call(n)
	for i, h := range list {
		p := h.quota.policy
		if slices.ContainsFunc(list[:i], func(o held) bool { return o.quota.policy == p }) {
			continue
		}
		ask := func(f func(Request, int) bool) (yes bool, err error) {
			defer recoverAll(&err)
			return f != nil && f(&c.req, status), nil
		}
		counted, err := ask(p.after.countIf)
		reset, err2 := ask(p.after.resetIf)
		if err = errors.Join(err, err2); err != nil {
			l.failed(p.name, err)
		}
		if counted || err != nil {
			counts = append(counts, p)
		}
		if reset && err == nil {
			resets = append(resets, p)
		}
	}
	l.release(c)
	return counts, resets
}

// abandon ends the visit of a request of which there is no response: what runs
// no longer is no longer in flight.
func (v *Visit) abandon() {
	var s settlement
	for _, h := range v.held {
		if h.quota.policy.after.inFlight && !h.quota.ban {
			s.giveBack(h)
		}
	}
	v.held = nil
	if err := s.settle(v.ctx, v.limiter); err != nil {
		v.limiter.failed("", fmt.Errorf("settling: %w", err))
	}
}

func (s *settlement) giveBack(h held) {
	if h.charged {
		s.add(h, -h.ask.Cost)
	}
}
