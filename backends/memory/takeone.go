package memory

import (
	"hash/maphash"

	"github.com/stint-go/stint/core"
)

// Seeds implements core.SingleTaker.
func (b *Backend) Seeds() *[2]maphash.Seed { return &b.seeds }

// TakeOne implements core.SingleTaker. It allocates nothing for cells of a fixed
// number of words, but for the slabs that all cells share.
func (b *Backend) TakeOne(at int64, space *core.Space, rule core.Rule, key core.Print, cost int64, when core.When) (o core.Outcome, err error) {
	switch {
	case rule == nil:
		return o, errRule
	case cost < 0:
		return o, errCost
	case space == nil || space.Window() <= 0:
		return o, errSpace
	case at < 0:
		return o, errAt
	}
	var p place
	b.locatePrint(space, key, at != 0, &p)
	read := b.shared.clock.now()
	s := &b.shards[p.shard]
	s.mu.Lock()
	defer s.unlock()
	var m moment
	s.enter(&m, at, read)
	if words := rule.Words(); !isApart(words) {
		if addr := s.find(p.fingerprint); addr != 0 {
			s.retake(&p, addr, rule, words, cost, when, &m, &o)
			s.tidy(m.tick)
			return o, nil
		}
	}
	t := seat{place: p, shard: s}
	ask := core.Ask{Cell: core.Cell{Space: space}, Rule: rule, Cost: cost, When: when}
	var v core.Verdict
	b.takeAlone(&t, &ask, &v, &m)
	s.tidy(m.tick)
	return core.Outcome{Judgement: v.Judgement, Charged: v.Charged, Now: m.now}, v.Err
}

// retake decides one ask on a cell that has a record: nearly every decision. It
// says no more than seat.decide, without the detours for newcomers. The outcome
// is written where it stays: copying what was just written is slow.
func (s *shard) retake(p *place, addr uint32, rule core.Rule, words int, cost int64, when core.When, m *moment, o *core.Outcome) {
	state := s.load(addr, words)
	o.Now = m.now
	o.Judgement = rule.Decide(state, m.now, p.phase, cost)
	o.Charged = charges(when, o.OK)
	full := limited(&o.Judgement)
	switch {
	case o.Charged && cost > 0:
		state, _ = rule.Charge(state, m.now, p.phase, cost)
		until := m.expiry(rule.Until(state))
		if full {
			until |= atLimit
		}
		s.store(p, addr, state, words, until)
	case full:
		s.arena.record(addr)[1] |= atLimit
	}
	if o.OK != o.Charged {
		o.Judgement = revised(o.Judgement, rule, state, m.now, p.phase, cost)
	}
}
