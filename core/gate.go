package core

import (
	"context"
	"hash/maphash"
)

// A Gate is one policy of a Limiter and one name of keys, looked up once: the
// cheapest way to ask. It counts exactly as Limiter.Allow does with
// NewKey(name, value), in the same cells, and answers nothing but yes or no. It
// is safe for concurrent use.
type Gate struct {
	limiter *Limiter
	policy  *policy
	name    string

	// The short way through a backend in this process; nil where there is none.
	short Admitter
	seeds *[2]maphash.Seed
	part  Print // of the name
	space *Space
	rule  Rule
}

// Gate returns the Gate for the policy of that name and for keys made by
// NewKey(name, value). That there is no such policy is an error.
func (l *Limiter) Gate(policy, name string) (*Gate, error) {
	p, err := l.policy(policy)
	if err != nil {
		return nil, err
	}
	if p.after.inFlight {
		return nil, errInFlight(p)
	}
	g := &Gate{limiter: l, policy: p, name: name}
	a, ok := l.single.(Admitter)
	if ok && !l.config.Disabled && l.config.Now == nil && l.isPlain(p.quotas) && p.when == OnAdmit && !p.soft {
		key := NewKey(name, "")
		g.short, g.seeds, g.part = a, l.seeds, key.printPart(l.seeds)
		g.space, g.rule = p.quotas[0].space, p.quotas[0].rule
	}
	return g, nil
}

// Admit reports whether the policy admits cost units for the key of that value,
// and charges them if so: Decision.Allowed and the error of Limiter.Allow, which
// also says how long to wait and what remains.
func (g *Gate) Admit(ctx context.Context, value string, cost int64) (bool, error) {
	if g.short == nil || cost <= 0 {
		return g.allow(ctx, value, cost)
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	ok, done := g.short.Admit(g.space, g.rule, printText(value, g.seeds).Xor(g.part), cost)
	if !done {
		return g.allow(ctx, value, cost)
	}
	return ok, nil
}

// allow is the long way: it works for everything.
func (g *Gate) allow(ctx context.Context, value string, cost int64) (bool, error) {
	key, d := NewKey(g.name, value), Decision{}
	err := g.limiter.decideKey(ctx, g.policy, &key, cost, g.policy.when, &d)
	return d.Allowed, err
}
