package core

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// A Reservation is what a request was charged by the policies that reserve, as an
// estimate: it is settled when the real cost is known. What is never settled, as
// when the handler panics or forgets it, stays as it was charged.
//
// Its methods do their work once: all later calls of either do nothing and answer
// nil, and so do those of a nil *Reservation, which is what a request has that
// nothing was charged for. They are safe for concurrent use, and do not mind that
// the client has gone: the end of ctx is not looked at, only its values.
type Reservation struct {
	limiter *Limiter
	mu      sync.Mutex
	held    []held
}

// Commit settles the real cost, in units, with each of the reserving policies, in
// one call to the backend. What was charged too much is given back to the very
// charge, or dropped where that has already left its window; what was charged too
// little is added as debt, even beyond the limit, and refuses nobody but those who
// come next. A cost below 0 is an error and settles nothing. After an error of the
// backend nobody knows whether it was settled; it is not tried again.
func (r *Reservation) Commit(ctx context.Context, actual int64) error {
	if r == nil {
		return nil
	}
	if actual < 0 {
		return fmt.Errorf("stint: cost %d: a cost is 0 or more", actual)
	}
	var list settlement
	for _, h := range r.take() {
		list.add(h, min(actual, MaxCount)-h.ask.Cost)
	}
	return list.settle(ctx, r.limiter)
}

// Cancel gives back all that was charged, and so ends what is in flight: Commit
// with a cost of 0.
func (r *Reservation) Cancel(ctx context.Context) error { return r.Commit(ctx, 0) }

// take empties the reservation.
func (r *Reservation) take() []held {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.held
	r.held = nil
	return list
}

// A held ask was decided, and may be settled when the request has ended.
type held struct {
	backend Backend
	ask     Ask
	receipt Receipt
	charged bool
	quota   *quota
}

// hold keeps the asks of the policies that which names, and nothing of the
// request's memory. The decision was just made.
func (l *Limiter) hold(c *call, d *Decision, which func(*policy) bool) (list []held) {
	for i, q := range c.quotas {
		if !which(q.policy) {
			continue
		}
		v := &c.out[i]
		h := held{l.backend, c.asks[i], v.Receipt, v.Charged && v.Err == nil, q}
		if d.at(i).fallback {
			h.backend, h.ask.Rule = l.fallback(), q.local
		}
		h.ask.Cell.Key = h.ask.Cell.Key.Clone()
		list = append(list, h)
	}
	return list
}

// reserve is the Reservation of what was charged, or nil where nothing was.
func (l *Limiter) reserve(list []held) *Reservation {
	list = slices.DeleteFunc(list, func(h held) bool { return !h.charged || h.quota.ban })
	if len(list) == 0 {
		return nil
	}
	return &Reservation{limiter: l, held: list}
}

// A settlement is what goes to the backends when a request has ended.
type settlement []settleCall

// A settleCall is the part of a settlement that concerns one backend.
type settleCall struct {
	backend  Backend
	asks     []Ask
	receipts []Receipt
	deltas   []int64
}

// add settles h by delta units.
func (s *settlement) add(h held, delta int64) {
	if delta == 0 {
		return
	}
	i := 0
	for i < len(*s) && (*s)[i].backend != h.backend {
		i++
	}
	if i == len(*s) {
		*s = append(*s, settleCall{backend: h.backend})
	}
	p := &(*s)[i]
	p.asks, p.receipts, p.deltas = append(p.asks, h.ask), append(p.receipts, h.receipt), append(p.deltas, delta)
}

// settle makes one call to each backend.
func (s settlement) settle(ctx context.Context, l *Limiter) (err error) {
	for _, p := range s {
		e := p.backend.Settle(context.WithoutCancel(ctx), l.at(), p.asks, p.receipts, p.deltas)
		if err == nil {
			err = e
		}
		if e == nil && l.config.Observer != nil {
			p.tell(l)
		}
	}
	return err
}

func (p *settleCall) tell(l *Limiter) {
	for i, a := range p.asks {
		if _, strike := a.Rule.(*banRule); strike {
			continue
		}
		e := Event{Kind: EventSettled, Policy: a.Cell.Space.policy, Units: p.deltas[i],
			key: a.Cell.Key, naming: a.Cell.Space.naming}
		l.tell(e)
	}
}
