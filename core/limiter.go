package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Limiter decides requests by its policies. Make it with New; it is safe for
// concurrent use and needs no closing.
type Limiter struct {
	config   Config
	backend  Backend
	single   SingleTaker // the backend's short way, when it has one
	seeds    *[2]maphash.Seed
	env      *requestEnv
	policies []*policy
	lone     *policy // see decideLone
	byName   map[string]*policy
	headers  Headers
	keep     bool
	holds    bool        // some policy may settle what it has charged
	watching atomic.Bool // still looking at requests, see watch
	flights  flights
	complain complaints
	calls    sync.Pool // of *call
	watch    watch

	refuser     Refuser // the backend's memory of refusals, when it has one
	loneRefused *policy // see refuseLone
}

// setSingle finds the backend's short way, which knows no phase function.
func (l *Limiter) setSingle() {
	if one, ok := l.backend.(SingleTaker); ok && l.config.Phase == nil {
		l.single, l.seeds = one, one.Seeds()
	}
}

func (l *Limiter) start() {
	l.byName = make(map[string]*policy, len(l.policies))
	for _, p := range l.policies {
		l.byName[p.name] = p
		l.holds = l.holds || p.after.reserve || p.after.waits()
	}
	l.findLone()
	l.complain.logger = l.config.Logger
	l.calls.New = func() any { return new(call) }
	l.watch.start(&l.config)
	l.watching.Store(true)
}

// call is the scratch memory of one decision.
type call struct {
	req     request
	keys    []Key
	asks    []Ask
	quotas  []*quota // of each ask
	lacking []*quota // rates refused because the request has no value for their key
	denied  bool     // by the DenyList
	look    bool     // nothing is charged, and nobody told
	out     []Verdict
}

// A Visit is one request's way through one Limiter: an adapter enters it before
// the handler runs and leaves it afterwards. The zero value is ready for Enter.
type Visit struct {
	Decision Decision
	// Pass tells to call the next handler. Otherwise Response answers the request.
	Pass     bool
	Response Response
	// Again: this Limiter has met the request before. Its Decision was kept then
	// and must not be replaced by the empty one of this Visit.
	Again bool

	// Reservation is what policies that reserve have charged, or nil. Adapters hand
	// it to the handler.
	Reservation *Reservation

	limiter *Limiter
	token   uintptr
	held    []held          // to be settled by Finish
	ctx     context.Context // of the request, where something is held
	looked  bool            // see lookAtOthers
}

// Enter decides the request and fills v. A Limiter that meets the same request
// again (mounted on a group and on one of its routes) decides once: the second
// Visit passes and says nothing. token tells requests in flight apart, for
// example by the address of the header map of the response; 0 tells nothing.
// Every Enter is followed by v.Leave, deferred, when the handler has returned.
//
// Enter never panics because of a hook, with one exception: the sentinel with
// which net/http handlers abort is passed on.
func (l *Limiter) Enter(n Native, token uintptr, v *Visit) {
	v.Pass = true
	v.Decision.Allowed = true
	if l.config.Disabled {
		return
	}
	if !l.flights.enter(token) {
		v.Again = true
		if l.watching.Load() {
			l.meetAgain()
		}
		return
	}
	v.limiter, v.token = l, token
	if err := l.check(n, v); err != nil {
		l.fail(n, v, err)
	}
}

// Leave ends the visit.
func (v *Visit) Leave() {
	if v.limiter == nil {
		return
	}
	v.limiter.flights.leave(v.token)
	if v.looked {
		v.limiter.leaveCompany(v.token)
	}
	if len(v.held) > 0 {
		v.abandon()
	}
}

// KeepsDecision tells adapters to keep the Decision in the framework's context.
// They ask once, when the middleware is made, so that a nil Limiter is found out
// when the program starts.
func (l *Limiter) KeepsDecision() bool {
	if l == nil {
		panic("stint: the Limiter is nil: look at the error of core.New")
	}
	return l.keep
}

// check is the template method: it calls the hooks in their order, and the
// backend once.
func (l *Limiter) check(n Native, v *Visit) (err error) {
	defer recoverHook(&err)
	if l.watching.Load() {
		l.look(n, v)
	}
	if p := l.lone; p != nil && p.applies(n) {
		if err := l.decideLone(p, n, &v.Decision); err != nil || !v.Decision.Limited {
			return err
		}
		if l.config.Disallowed == nil { // nobody to ask, so no need of a Request
			if !v.Decision.Allowed {
				v.tell(n)
				v.Response = v.Decision.refusal()
			}
			return nil
		}
	}
	c := l.call(n)
	if l.lone == nil && !l.refuseLone(n, &v.Decision) {
		if err := l.gather(c); err != nil {
			return err
		}
		if l.watching.Load() {
			l.lookAtKeys(c)
		}
		if err := l.decide(l.detached(n), c, &v.Decision); err != nil {
			l.observe(c, &v.Decision, err)
			l.release(c)
			return err
		}
		if l.holds && v.Decision.Allowed { // before hooks are called, which may panic
			v.ctx = n.Context()
			v.held = l.hold(c, &v.Decision, (*policy).waitsForAnswer)
			v.Reservation = l.reserve(l.hold(c, &v.Decision, (*policy).reserves))
		}
		l.observe(c, &v.Decision, nil)
	}
	if err := l.answer(c, v); err != nil {
		return err
	}
	l.release(c)
	return nil
}

// decideLone is gather and decide for the commonest Limiter: one policy of one
// fixed rate, keyed by the client's address, without hooks. It needs no scratch
// memory.
func (l *Limiter) decideLone(p *policy, n Native, d *Decision) error {
	ip := normalAddr(l.env.clientIP(n))
	if !ip.IsValid() {
		return fmt.Errorf("policy %s: %w", p.name, errNoAddress)
	}
	cut := p.key.cutOf(l.env)
	err := l.takeOne(p.quotas[0], cut.print(ip, l.seeds), p.cost, p.when, d)
	if err != nil {
		var key Key
		cut.key(ip, &key)
		return l.copeOne(p.quotas[0], &key, p.cost, p.when, err, d)
	}
	return nil
}

// findLone finds the policy of decideLone.
func (l *Limiter) findLone() {
	p := l.policies[0]
	if len(l.policies) != 1 || p.key.op != opIP || p.hooks != nil || p.rateFunc != nil || !l.isPlain(p.quotas) || l.holds {
		return
	}
	switch {
	case l.single != nil:
		l.lone = p
	case l.refuser != nil:
		l.loneRefused = p
	}
}

// detached is the context of a decision about a request. A client that hangs up
// must not make a charge that may have happened look like a failure. A backend
// inside the process has nothing to wait for and needs no context at all.
func (l *Limiter) detached(n Native) context.Context {
	if l.single != nil {
		return background
	}
	return context.WithoutCancel(n.Context())
}

var background = context.Background()

func (l *Limiter) call(n Native) *call {
	c := l.calls.Get().(*call)
	c.req.reset(n, l.env)
	return c
}

// release makes c ready for another request. After a panic it is left to the
// collector: nobody knows what a hook still holds.
func (l *Limiter) release(c *call) {
	c.req.reset(nil, l.env)
	clear(c.keys[:cap(c.keys)])
	clear(c.asks[:cap(c.asks)])
	c.keys, c.asks, c.quotas, c.lacking, c.denied = c.keys[:0], c.asks[:0], c.quotas[:0], c.lacking[:0], false
	c.look = false
	l.calls.Put(c)
}

// gather asks every policy what it wants to know: the asks of the decision.
func (l *Limiter) gather(c *call) error {
	lists := &l.config
	if !l.listing() {
		lists = nil
	} else if exempt := c.lookUp(lists); exempt || c.denied {
		return nil
	}
	for _, p := range l.policies {
		if err := c.add(p, lists); err != nil {
			return fmt.Errorf("policy %s: %w", p.name, err)
		}
		if c.denied { // nobody else has to look at the request
			return nil
		}
		if err := c.req.err; err != nil { // a hook read a body that can not be read
			return fmt.Errorf("policy %s: %w", p.name, err)
		}
	}
	return nil
}

// add gathers the asks of one policy. lists are those of the Limiter, or nil.
func (c *call) add(p *policy, lists *Config) error {
	r := &c.req
	if !p.applies(r.Native) || p.hooks != nil && !p.hooks.ShouldLimit(r) {
		return nil
	}
	quotas, err := p.rates(r)
	if err != nil || len(quotas) == 0 {
		return err
	}
	if c.keys, err = p.key.keys(r, p.missing, c.keys[:0]); errors.Is(err, errMissing) {
		if p.binder.shadow {
			if !c.look {
				p.trial.count(true, false)
			}
			return nil
		}
		c.lacking = append(c.lacking, quotas[0])
		return nil
	} else if err != nil {
		return err
	}
	cost := p.cost
	if p.coster != nil {
		if cost = p.coster.Cost(r); cost < 0 {
			return fmt.Errorf("%w: Cost answered %d", errHook, cost)
		}
	}
	for _, k := range c.keys {
		if lists != nil && c.lookUpKey(lists, k) {
			continue
		}
		if p.hooks != nil {
			if k = p.hooks.KeyExtra(r, k); k.tooLong() {
				return fmt.Errorf("%w: KeyExtra made a key of more than %d bytes", ErrIdentity, maxKey)
			}
		}
		c.ask(p, quotas, k, cost, p.when)
	}
	return nil
}

// rates are the policy's for this request; r is nil outside of one.
func (p *policy) rates(r Request) ([]*quota, error) {
	if p.rateFunc == nil {
		return p.quotas, nil
	}
	rates, err := p.rateFunc(p.name, r)
	if err != nil {
		return nil, fmt.Errorf("rate function: %w", err)
	}
	if rates == nil {
		return nil, fmt.Errorf("%w: the rate function answered nil: answer core.Rates{} for no limit", errHook)
	}
	quotas, err := p.binder.cached(rates)
	if err != nil {
		return nil, fmt.Errorf("rate function: %w: %w", errHook, err)
	}
	return quotas, nil
}

// ask adds one ask per rate. Two of the same cell become one by adding their
// costs: the cells of a decision are distinct.
func (c *call) ask(p *policy, quotas []*quota, k Key, cost int64, when When) {
next:
	for _, b := range quotas {
		a := Ask{Cell: Cell{b.space, k}, Rule: b.rule, Cost: cost, When: when, Soft: p.soft}
		switch {
		case b.ban:
			a.strike(p.after.failures)
		case b.shadow && !p.trial.takesPart(&k):
			continue
		}
		for i := range c.asks {
			if c.quotas[i] == b && c.asks[i].Cell.Key == k {
				if !b.ban {
					c.asks[i].Cost = min(c.asks[i].Cost, MaxCount) + min(cost, MaxCount)
				}
				continue next
			}
		}
		c.asks = append(c.asks, a)
		c.quotas = append(c.quotas, b)
	}
}

// decide puts what was gathered to the backend and sums it up in d. Where an
// enforcing policy lacks the value it insists on, the request is refused as it
// is, and nothing is charged.
func (l *Limiter) decide(ctx context.Context, c *call, d *Decision) error {
	if c.denied {
		d.deny()
		return nil
	}
	hopeless := slices.ContainsFunc(c.lacking, func(b *quota) bool { return !b.policy.soft })
	switch {
	case hopeless || len(c.asks) == 0:
	case l.refuse(c, d):
	case len(c.asks) == 1 && l.single != nil && !l.holds && l.isPlain(c.quotas):
		if err := l.takeKey(c.quotas[0], &c.asks[0].Cell.Key, c.asks[0].Cost, c.asks[0].When, d); err != nil {
			return err
		}
	default:
		if err := l.takeAll(ctx, c, d); err != nil {
			return err
		}
	}
	if len(c.lacking) > 0 {
		if d.now == 0 {
			d.now = cmp.Or(l.at(), time.Now().UnixMicro())
		}
		for _, b := range c.lacking {
			d.add(entry{Judgement: refuseAll(), b: b, soft: b.policy.soft})
		}
		d.finish(l)
	}
	return nil
}

func (l *Limiter) takeAll(ctx context.Context, c *call, d *Decision) (err error) {
	enforced := c.shadowsLast()
	c.out = slices.Grow(c.out[:0], len(c.asks))[:len(c.asks)]
	clear(c.out)
	d.now, err = l.backend.Take(ctx, l.at(), c.asks, c.out)
	shadows := c.hideShadows(enforced)
	switch {
	case enforced == 0 && err != nil: // nobody's door depends on it
		l.failed("", err)
		d.finish(l)
		return nil
	case err != nil:
		return l.cope(ctx, c, err, d)
	}
	if slices.ContainsFunc(c.out, func(v Verdict) bool { return v.Err != nil }) {
		err = l.cope(ctx, c, nil, d)
	} else {
		l.conclude(c, d)
	}
	l.compare(c, d, shadows)
	return err
}

// conclude makes the Decision of verdicts without an error.
func (l *Limiter) conclude(c *call, d *Decision) {
	d.more = make([]entry, 0, max(0, len(c.asks)-1)+len(c.lacking))
	for i := range c.out {
		e := entry{b: c.quotas[i], soft: c.asks[i].Soft}
		e.judged(c.out[i].Judgement)
		d.add(e)
		if p := c.quotas[i].policy; p.outage.on.Load() && p.outage.calm(l.complain.to(), p) {
			l.tell(Event{Kind: EventMode, Policy: p.name, Mode: p.failing})
		}
	}
	d.finish(l)
}

// at is the instant of a decision: 0, the backend's own clock, unless
// Config.Now replaces it.
func (l *Limiter) at() int64 {
	if l.config.Now == nil {
		return 0
	}
	return l.config.Now().UnixMicro()
}

// finish sums d up.
func (d *Decision) finish(l *Limiter) {
	d.headers, d.disallowed = l.headers, l.config.Disallowed
	d.sum()
	if d.Degraded {
		d.hide()
	}
	if !d.Allowed && !d.closed && l.config.Jitter {
		d.spread()
	}
}

// answer tells the observers of a refusal, and has the policy that speaks for
// the decision render it.
func (l *Limiter) answer(c *call, v *Visit) error {
	d := &v.Decision
	if d.Denied {
		return l.forbid(c, v)
	}
	if !d.Limited {
		return nil
	}
	var last *policy
	for i := range d.len() {
		e := d.at(i)
		if p := e.b.policy; e.refused() && p != last && p.observer != nil {
			last = p
			p.observer.Denied(&c.req, *d)
		}
	}
	c.record(d)
	if !d.Allowed {
		v.tell(c.req.Native)
		v.Response = l.byName[d.Policy].disallowed(&c.req, *d)
		switch status := v.Response.Status; {
		case status == 0:
			v.Response.Status = 429
		case status < 200 || status > 599:
			return fmt.Errorf("policy %s: %w: Disallowed answered with status %d", d.Policy, errHook, status)
		}
	}
	return nil
}

// tell has the header fields of a refusal written.
func (v *Visit) tell(n Native) {
	v.Pass = false
	if w, ok := n.(DecisionWriter); ok {
		w.WriteDecision(v.Decision)
	}
}
