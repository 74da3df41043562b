package core

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// setBan makes the quota of the policy's ban.
func (p *policy) setBan(in *Policy, naming *Naming) error {
	if in.Ban == nil {
		return nil
	}
	if p.soft {
		return errors.New("Ban: a policy that does not enforce refuses nobody, so that there is nothing to ban for: leave it out")
	}
	rule, err := in.Ban.bind()
	if err != nil {
		return err
	}
	p.ban = &quota{
		policy: p, rate: Rate{Limit: in.Ban.After, Window: in.Ban.Within}, rule: rule, local: rule, ban: true,
		space: NewSpace(p.name, rule.within, rule.Shape(), naming, nil), units: rule.after, item: p.name,
	}
	return nil
}

// strike makes a the ask of a ban: one strike where the request is refused, and
// none where it is only a look, or where failures are counted instead.
func (a *Ask) strike(failures bool) {
	a.Cost = min(a.Cost, 1)
	if a.When != Never {
		a.When = OnRefuse
	}
	if failures {
		a.When = Never
	}
}

// judged fills in the judgement of the entry's quota. A ban that was charged and
// was OK before has been struck: where that began a ban, its end is what the client
// has to wait for.
func (e *entry) judged(j Judgement) {
	e.Judgement = j
	if e.b.ban && j.OK && j.NextAfter > 0 {
		e.OK, e.RetryAfter, e.began = false, j.NextAfter, true
	}
}

// Ban refuses the key under the policy for d, from now on: by hand, in place of a
// ban that may go on already. The policy must have a Ban. It is an error where
// the backend is down; the fallback then refuses the key all the same. The ban
// reaches what the policy counts, so it takes the keys that KeyExtra makes.
func (l *Limiter) Ban(ctx context.Context, policy string, key Key, d time.Duration) error {
	q, err := l.banOf(policy)
	if err != nil {
		return err
	}
	if longest := time.Duration(MaxWindow) * time.Microsecond; d < time.Millisecond || d > longest {
		return fmt.Errorf("stint: policy %s: a ban of %v: use 1ms to %v", policy, d, longest)
	}
	ask := Ask{Cell: Cell{q.space, key}, Rule: banByHand{q.rule.(*banRule), d.Microseconds()}}
	settle := func(ctx context.Context, b Backend) error {
		return b.Settle(ctx, l.at(), []Ask{ask}, []Receipt{{}}, []int64{1})
	}
	err = settle(ctx, l.backend)
	if f := l.fallback(); f != nil {
		err = errors.Join(err, settle(context.WithoutCancel(ctx), f))
	}
	if err == nil {
		e := l.about(EventBanned, q.policy, key)
		e.Entry = Entry{Policy: policy, Ban: true, RetryAfter: d}
		l.tell(e)
	}
	return err
}

// Unban lifts the ban of the key under the policy, forgets its strikes and
// forgives those before. What was consumed stays: see Reset, which lifts bans too.
func (l *Limiter) Unban(ctx context.Context, policy string, key Key) error {
	q, err := l.banOf(policy)
	if err != nil {
		return err
	}
	return l.reset(ctx, []Cell{{q.space, key}})
}

func (l *Limiter) banOf(policy string) (*quota, error) {
	p, err := l.policy(policy)
	if err != nil {
		return nil, err
	}
	if p.ban == nil {
		return nil, fmt.Errorf("stint: policy %s has no Ban: set Policy.Ban", policy)
	}
	return p.ban, nil
}
