package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Allow decides outside of a request, for jobs and RPC: may cost units be charged
// to the key, under the policy of that name? Hooks are not called; the key is
// taken as it is. Cost 0 is a look. Allowed false is an answer; an error means
// that something broke, and Allowed is false then too. While the backend is down
// the policy's OnFailure decides, without an error unless it is FailClosed. What it
// charges stays, whatever CountIf says; for what is settled later there is Reserve.
func (l *Limiter) Allow(ctx context.Context, policy string, key Key, cost int64) (d Decision, err error) {
	err = l.allow(ctx, policy, &key, cost, &d) // inlined at the caller: neither key nor d is copied
	return
}

// Peek answers what Allow would for cost units, and charges nothing. With cost 0
// the Decision only describes how the quotas stand.
func (l *Limiter) Peek(ctx context.Context, policy string, key Key, cost int64) (d Decision, err error) {
	p, err := l.policy(policy)
	if err == nil {
		err = l.decideKey(ctx, p, &key, cost, Never, &d)
	}
	return d, err
}

// Reset forgets everything that was consumed under the policy by the key. While
// the backend is down that is an error, and only the fallback forgets.
//
// What was charged before and is given back later (CountIf, Reservation) is taken
// out of what was consumed since, as far as the strategy can not tell the two apart:
// only MovingWindow can. And who is in flight (InFlight) is not counted any more.
func (l *Limiter) Reset(ctx context.Context, policy string, key Key) error {
	p, err := l.policy(policy)
	if err != nil {
		return err
	}
	quotas, err := p.ratesOutside()
	if err != nil {
		return err
	}
	cells := make([]Cell, len(quotas))
	for i, b := range quotas {
		cells[i] = Cell{b.space, key}
	}
	return l.reset(ctx, cells)
}

func (l *Limiter) policy(name string) (*policy, error) {
	if p := l.policies[0]; p.name == name { // the usual number of policies is one
		return p, nil
	}
	if p := l.byName[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("stint: no policy %q in this limiter", name)
}

// Reserve is Allow for what will cost something else in the end, or that runs for
// a while (InFlight): the Reservation settles it. It is nil where nothing was
// charged, which its methods do not mind.
func (l *Limiter) Reserve(ctx context.Context, policy string, key Key, cost int64) (d Decision, r *Reservation, err error) {
	p, err := l.policy(policy)
	if err != nil {
		return d, nil, err
	}
	quotas, err := l.ready(ctx, p, &key, cost, p.when, &d)
	if len(quotas) == 0 {
		return d, nil, err
	}
	c := l.call(nil)
	c.ask(p, quotas, key, cost, p.when)
	err = l.takeAll(ctx, c, &d)
	l.observe(c, &d, err)
	if d.Allowed {
		r = l.reserve(l.hold(c, &d, allPolicies))
	}
	l.release(c)
	return d, r, err
}

func (l *Limiter) allow(ctx context.Context, policy string, key *Key, cost int64, d *Decision) error {
	p, err := l.policy(policy)
	if err != nil {
		return err
	}
	if p.after.inFlight {
		return errInFlight(p)
	}
	return l.decideKey(ctx, p, key, cost, p.when, d)
}

// decideKey decides by one policy. d is zero, and stays so where an error is
// answered that is not the backend's.
func (l *Limiter) decideKey(ctx context.Context, p *policy, key *Key, cost int64, when When, d *Decision) error {
	quotas, err := l.ready(ctx, p, key, cost, when, d)
	switch {
	case len(quotas) == 0:
		return err
	case !l.isPlain(quotas):
	case l.single != nil:
		return l.takeKey(quotas[0], key, cost, when, d)
	case l.refuseOne(quotas[0], key, cost, when, d):
		return nil
	}
	c := l.call(nil)
	c.look = when == Never
	c.ask(p, quotas, *key, cost, when)
	if !l.refuse(c, d) {
		err = l.takeAll(ctx, c, d)
	}
	l.observe(c, d, err)
	l.release(c)
	return err
}

// ready answers the quotas to ask. Where there are none, d is decided, or err says
// why not.
func (l *Limiter) ready(ctx context.Context, p *policy, key *Key, cost int64, when When, d *Decision) (quotas []*quota, err error) {
	if l.config.Disabled {
		d.Allowed = true
		return nil, nil
	}
	if cost < 0 {
		return nil, fmt.Errorf("stint: policy %s: cost %d: a cost is 0 or more", p.name, cost)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.listing() && l.listed(*key, d) {
		if when != Never {
			l.decided(d)
		}
		return nil, nil
	}
	if quotas = p.quotas; p.rateFunc != nil {
		quotas, err = p.ratesOutside()
	}
	if d.Allowed = err == nil && len(quotas) == 0; d.Allowed && when != Never {
		l.decided(d)
	}
	return quotas, err
}

// isPlain reports whether these quotas, of one policy, need nothing but a decision.
func (l *Limiter) isPlain(quotas []*quota) bool {
	return len(quotas) == 1 && !quotas[0].shadow && l.config.Observer == nil && !l.listing()
}

// errInFlight is for those who would never tell the end of what they begin.
func errInFlight(p *policy) error {
	return fmt.Errorf("stint: policy %s: %w: it counts what runs, so its end has to be told: use Reserve", p.name, ErrUnsupported)
}

// ratesOutside are the rates of a function that is asked without a request.
func (p *policy) ratesOutside() (quotas []*quota, err error) {
	defer recoverHook(&err)
	return p.rates(nil)
}

// AllowRequest decides a request by all policies, by the same hooks and keys as
// the middleware, for handlers that ask themselves. It answers no request, writes
// no field and tells no observer. A request whose client has hung up is an error,
// and nothing is charged. While the backend is down each policy's OnFailure
// decides, without an error unless one of them is FailClosed.
//
// What it charges stays: nobody tells it how the request ends, so that Reserve,
// CountIf and ResetIf do nothing, and a policy that is InFlight is an error.
func (l *Limiter) AllowRequest(n Native) (Decision, error) { return l.ask(n, false) }

// PeekRequest answers what AllowRequest would, and charges nothing.
func (l *Limiter) PeekRequest(n Native) (Decision, error) { return l.ask(n, true) }

func (l *Limiter) ask(n Native, peek bool) (d Decision, err error) {
	d.Allowed = true
	if l.config.Disabled {
		return d, nil
	}
	if err := n.Context().Err(); err != nil {
		return Decision{}, err
	}
	defer recoverHook(&err)
	c := l.call(n)
	c.look = peek
	if err := l.gather(c); err != nil {
		return Decision{}, err
	}
	for i := range c.asks {
		switch p := c.quotas[i].policy; {
		case peek:
			c.asks[i].When = Never
		case p.after.inFlight:
			return Decision{}, errInFlight(p)
		}
	}
	if err = l.decide(n.Context(), c, &d); err != nil && !d.closed {
		d = Decision{}
	}
	l.observe(c, &d, err)
	l.release(c)
	return d, err
}

// ResetRequest forgets what the identities of this request have consumed under
// the named policies, as after a successful login; with no names, under all that
// apply to the request.
func (l *Limiter) ResetRequest(n Native, policies ...string) (err error) {
	for _, name := range policies {
		if _, err := l.policy(name); err != nil {
			return err
		}
	}
	defer recoverHook(&err)
	c := l.call(n)
	c.look = true
	if err := l.gather(c); err != nil {
		return err
	}
	var cells []Cell
	for i, a := range c.asks {
		if len(policies) == 0 || slices.Contains(policies, c.quotas[i].policy.name) {
			cells = append(cells, Cell{a.Cell.Space, a.Cell.Key.Clone()})
		}
	}
	l.release(c)
	return l.reset(n.Context(), cells)
}

func (l *Limiter) reset(ctx context.Context, cells []Cell) error {
	if len(cells) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := l.backend.Reset(ctx, cells...)
	if f := l.fallback(); f != nil {
		err = errors.Join(err, f.Reset(context.WithoutCancel(ctx), cells...))
	}
	return err
}
