package core

import "hash/maphash"

// A Refuser is a Backend outside the process that remembers for a while what its
// store has refused, and until when: it refuses the same again without asking.
// The Limiter looks for it once, and asks it before Take. Take always asks the
// store.
//
// A Refuser refuses only what Take would refuse, and with its figures, as time
// has changed them; how long it may go without hearing of what other processes
// do, it documents. It remembers no decision that charges refusals (OnRefuse,
// Always) or has soft asks: those must be made each time. A ban that stands is
// no such charge: see Ask.IsBan. It never allocates.
//
// The Limiter does not ask it about decisions that shadows are judged with, and
// about policies whose charges are given back when a request ends, as that may be
// at any moment in any process.
type Refuser interface {
	// Seeds are those of the prints that RefuseOne takes. They never change; nil
	// tells that nothing is remembered.
	Seeds() *[2]maphash.Seed
	// RefuseOne tells whether a decision of this one ask, hard and charged on
	// admittance or never, is known to be refused. key is the print of the ask's
	// key under Seeds.
	RefuseOne(space *Space, rule Rule, key Print, cost int64) (o Outcome, refused bool)
	// Refuse is RefuseOne for one decision of any asks; that of asks[which] is the
	// one that o is about, and o.RetryAfter is the decision's. which is -1 where
	// nothing is known.
	Refuse(asks []Ask) (which int, o Outcome)
}

// IsBan reports whether the ask is about the Ban of a policy. While that refuses,
// being refused changes nothing: its When does not matter then.
func (a *Ask) IsBan() bool {
	_, is := a.Rule.(*banRule)
	return is
}

// setRefuser finds the backend's memory of refusals, which knows no explicit
// instants.
func (l *Limiter) setRefuser() {
	r, ok := l.backend.(Refuser)
	if !ok || l.single != nil || l.config.Now != nil {
		return
	}
	if seeds := r.Seeds(); seeds != nil {
		l.refuser, l.seeds = r, seeds
	}
}

// refuseLone is gather and refuse for the commonest Limiter: see decideLone.
func (l *Limiter) refuseLone(n Native, d *Decision) bool {
	p := l.loneRefused
	if p == nil || !p.applies(n) {
		return false
	}
	var key Key
	if p.key.addressKey(normalAddr(l.env.clientIP(n)), l.env, &key) != nil {
		return false // gather says why
	}
	return l.refuseOne(p.quotas[0], &key, p.cost, p.when, d)
}

// refuseOne is refuse for one ask.
func (l *Limiter) refuseOne(q *quota, key *Key, cost int64, when When, d *Decision) bool {
	if l.refuser == nil || q.policy.soft || when == Always || when == OnRefuse || !q.remembered() {
		return false
	}
	o, refused := l.refuser.RefuseOne(q.space, q.rule, key.Print(l.seeds), cost)
	if refused {
		l.refused(q, &o, d)
	}
	return refused
}

// remembered reports whether refusals of q may be made from memory.
func (q *quota) remembered() bool {
	return !q.shadow && !q.policy.after.reserve && !q.policy.after.waits()
}

// refuse tells whether the decision is known to be refused, and makes it then.
// Only the ask that is known about is in it: how the others stand is not known.
func (l *Limiter) refuse(c *call, d *Decision) bool {
	if l.refuser == nil {
		return false
	}
	for _, q := range c.quotas {
		if !q.remembered() {
			return false
		}
	}
	which, o := l.refuser.Refuse(c.asks)
	if which < 0 {
		return false
	}
	l.refused(c.quotas[which], &o, d)
	c.asks[0], c.quotas[0] = c.asks[which], c.quotas[which]
	clear(c.asks[1:])
	c.asks, c.quotas = c.asks[:1], c.quotas[:1]
	return true
}

// refused is the decision of one ask that is refused.
func (l *Limiter) refused(q *quota, o *Outcome, d *Decision) {
	e := &d.first
	e.b = q
	e.Remaining, e.RetryAfter, e.NextAfter, e.ResetAfter = o.Remaining, o.RetryAfter, o.NextAfter, o.ResetAfter
	d.now, d.headers, d.disallowed = o.Now, l.headers, l.config.Disallowed
	d.Limited, d.Allowed, d.Banned = true, false, q.ban
	d.speak(e)
	if l.config.Jitter {
		d.spread()
	}
}
