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
		if addr := s.find(&p); addr != 0 {
			o = s.retake(&p, addr, rule, words, cost, when, &m)
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
// says no more than seat.decide, without the detours for newcomers.
func (s *shard) retake(p *place, addr uint32, rule core.Rule, words int, cost int64, when core.When, m *moment) core.Outcome {
	state := s.load(addr, words)
	j := rule.Decide(state, m.now, p.phase, cost)
	charged := charges(when, j.OK)
	if charged && cost > 0 {
		state, _ = rule.Charge(state, m.now, p.phase, cost)
		until := m.expiry(rule.Until(state))
		if limited(&j) {
			until |= atLimit
		}
		s.store(p, addr, state, words, until)
	} else if limited(&j) {
		s.arena.record(addr)[1] |= atLimit
	}
	if j.OK != charged {
		j = revised(j, rule, state, m.now, p.phase, cost)
	}
	return core.Outcome{Judgement: j, Charged: charged, Now: m.now}
}
