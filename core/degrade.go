package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// closedWait is the Retry-After of requests that are refused because the backend
// is down: long enough that clients do not wait at the door, short enough that
// they notice its return.
const closedWait = 5 * time.Second

// A coping is a decision of which the backend has left asks open. It stays all or
// nothing, and is made in this order: the asks that have failed are sorted by what
// their policies' OnFailure says; the fallback decides its own, and charges them
// only where nobody has refused so far; what the backend has left uncharged it is
// asked for again; and where the request is refused after all, what was charged is
// given back by receipt. What has failed is not given back: nobody knows whether it
// was charged.
type coping struct {
	*call
	limiter *Limiter
	ctx     context.Context // the caller's, but for its end
	entries []entry
	local   local
	now     int64
	refused bool // by a limit
	closed  bool // as it can not be decided
}

// local is what the fallback decides.
type local struct {
	places []int // of the asks in the call
	asks   []Ask
	out    []Verdict
}

// cope makes a decision of what the backend has answered, err or errors in c.out.
// The error that is returned, beside the Decision, refuses the request.
func (l *Limiter) cope(ctx context.Context, c *call, err error, d *Decision) error {
	for i := range c.out {
		if err != nil && c.out[i].Err == nil {
			c.out[i] = Verdict{Err: err}
		}
	}
	m := coping{call: c, limiter: l, ctx: context.WithoutCancel(ctx), now: d.now}
	if err := spent(ctx); err != nil {
		refund(m.ctx, l.backend, l.at(), c.asks, c.out, true)
		return errors.Join(err, m.firstError())
	}
	m.sort()
	m.decideLocally()
	m.keep()
	m.giveBack()
	return m.conclude(d)
}

// spent tells whether the caller has gone, or its time is up, which is no failure
// of the backend's: a client must not be able to open a door by hanging up, or by
// the deadline that it sends.
func spent(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// copeOne is cope for one ask that the backend's short way could not decide.
func (l *Limiter) copeOne(q *quota, key *Key, cost int64, when When, err error, d *Decision) error {
	c := &call{out: []Verdict{{Err: err}}}
	c.ask(q.policy, []*quota{q}, *key, cost, when)
	return l.cope(background, c, nil, d)
}

// sort makes the entries, and tells what becomes of the asks that have failed.
func (m *coping) sort() {
	m.entries = make([]entry, len(m.asks))
	for i := range m.asks {
		v, q := &m.out[i], m.quotas[i]
		e := &m.entries[i]
		*e = entry{b: q, soft: m.asks[i].Soft, err: v.Err}
		e.judged(v.Judgement)
		if v.Err == nil {
			m.refused = m.refused || !v.OK && !e.soft
			continue
		}
		mode := m.modeOf(q, v.Err)
		switch mode {
		case Fallback:
			m.local.add(m.asks[i], q.local, i)
		case FailOpen:
			e.Judgement = Judgement{OK: true}
		default:
			m.close(e, v.Err)
		}
		m.log(q.policy, mode, v.Err)
	}
}

// modeOf is what happens to an ask of q that has failed.
func (m *coping) modeOf(q *quota, err error) FailureMode {
	mode := q.policy.failing
	if !isDown(err) || mode == Fallback && (q.local == nil || m.limiter.fallback() == nil) {
		return FailClosed
	}
	return mode
}

func (m *coping) log(p *policy, mode FailureMode, err error) {
	l := m.limiter
	if !isDown(err) || l.single != nil {
		l.failed(p.name, err)
		return
	}
	begins := p.outage.failed(l.complain.to(), p, mode, err)
	l.tell(Event{Kind: EventFailed, Policy: p.name, Err: err})
	if begins {
		l.tell(Event{Kind: EventMode, Policy: p.name, Mode: mode, Degraded: true, Err: err})
	}
}

// close refuses an entry because it can not be decided.
func (m *coping) close(e *entry, err error) {
	e.err = err
	e.Judgement = Judgement{RetryAfter: closedWait.Microseconds()}
	m.closed = m.closed || !e.soft
}

// decideLocally has the fallback decide. Where the request is refused already it
// only tells how its cells stand, and charges what refusals are charged for.
func (m *coping) decideLocally() {
	o := &m.local
	if len(o.asks) == 0 {
		return
	}
	for k := range o.asks {
		if a := &o.asks[k]; !a.Soft && (m.closed || m.refused && a.When == OnAdmit) {
			a.When = Never
		}
	}
	now, err := m.limiter.fallback().Take(m.ctx, m.limiter.at(), o.asks, o.out)
	m.now = cmp.Or(m.now, now)
	for k, i := range o.places {
		e := &m.entries[i]
		if err := cmp.Or(err, o.out[k].Err); err != nil {
			m.close(e, errors.Join(e.err, fmt.Errorf("fallback: %w", err)))
			continue
		}
		e.judged(o.out[k].Judgement)
		e.fallback = true
		m.refused = m.refused || !e.OK && !e.soft
	}
}

func (o *local) add(a Ask, r Rule, place int) {
	a.Rule = r
	o.places, o.asks, o.out = append(o.places, place), append(o.asks, a), append(o.out, Verdict{})
}

// keep charges what the backend has left uncharged because another ask had failed:
// it would pass for nothing. That is another trip, and so the store may refuse now,
// or fail as well, which closes the decision: there is no third.
func (m *coping) keep() {
	var again []Ask
	var places []int
	for i := range m.asks {
		a, v := &m.asks[i], &m.out[i]
		if v.Err == nil && !v.Charged && !a.Soft && a.Cost > 0 && (a.When == OnAdmit || a.When == Always) {
			again, places = append(again, *a), append(places, i)
		}
	}
	if m.refused || m.closed || len(again) == 0 {
		return
	}
	out := make([]Verdict, len(again))
	_, err := m.limiter.backend.Take(m.ctx, m.limiter.at(), again, out)
	for k, i := range places {
		e := &m.entries[i]
		m.out[i], e.Judgement = out[k], out[k].Judgement
		if err := cmp.Or(out[k].Err, err); err != nil {
			m.close(e, err)
			continue
		}
		m.refused = m.refused || !e.OK
	}
}

// giveBack returns what was charged to a request that is refused after all. Where
// a limit refused it, refusals are charged for all the same.
func (m *coping) giveBack() {
	if !m.refused && !m.closed {
		return
	}
	l, at := m.limiter, m.limiter.at()
	for _, i := range refund(m.ctx, l.backend, at, m.asks, m.out, m.closed) {
		m.entries[i].returned(m.asks[i].Cost, m.quotas[i].units)
	}
	if o := &m.local; len(o.asks) > 0 {
		for _, k := range refund(m.ctx, l.fallback(), at, o.asks, o.out, m.closed) {
			m.entries[o.places[k]].returned(o.asks[k].Cost, capacity(o.asks[k].Rule))
		}
	}
}

// returned corrects the figures of an entry whose charge was given back.
func (j *Judgement) returned(cost, units int64) {
	if j.Remaining += cost; j.Remaining >= units {
		j.Remaining, j.NextAfter, j.ResetAfter = units, 0, 0
	}
}

// refund settles the charges of hard asks by their receipts, and answers which. One
// that can not be settled stays until its window passes.
func refund(ctx context.Context, b Backend, at int64, asks []Ask, out []Verdict, all bool) (done []int) {
	var back []Ask
	var receipts []Receipt
	var deltas []int64
	for i := range asks {
		a, v := &asks[i], &out[i]
		if v.Charged && v.Err == nil && !a.Soft && (all || a.When == OnAdmit) && v.Receipt != (Receipt{}) {
			back, receipts, deltas = append(back, *a), append(receipts, v.Receipt), append(deltas, -a.Cost)
			done = append(done, i)
		}
	}
	if len(back) == 0 || b.Settle(ctx, at, back, receipts, deltas) != nil {
		return nil
	}
	return done
}

func (m *coping) firstError() error {
	for i := range m.out {
		if err := m.out[i].Err; err != nil {
			return err
		}
	}
	return nil
}

// conclude fills in the Decision.
func (m *coping) conclude(d *Decision) error {
	d.now = cmp.Or(m.now, m.limiter.at(), time.Now().UnixMicro())
	d.Degraded, d.Cause, d.closed = true, ClassOf(m.firstError()), m.closed
	d.more = make([]entry, 0, len(m.entries)-1+len(m.lacking))
	var errs []error
	for i := range m.entries {
		e := m.entries[i]
		d.add(e)
		if !e.decided() && !e.OK && !e.soft {
			errs = append(errs, fmt.Errorf("policy %s: %w", e.b.policy.name, e.err))
		}
	}
	for k, i := range m.local.places {
		if m.entries[i].fallback {
			m.out[i] = m.local.out[k] // whoever settles the charge finds it there
		}
	}
	d.finish(m.limiter)
	return errors.Join(errs...)
}
