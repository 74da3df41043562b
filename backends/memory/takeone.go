package memory

import (
	"hash/maphash"

	"github.com/stint-go/stint/core"
)

// Seeds implements core.SingleTaker.
func (b *Backend) Seeds() *[2]maphash.Seed { return &b.seeds }

// TakeOne implements core.SingleTaker. It allocates nothing for cells of a fixed
// number of words, but for the slabs that all cells share.
//
// What nearly all decisions are it decides as Admit does, with the figures; what
// core.Admit declines, and newcomers for whom there is no room, as Take does.
func (b *Backend) TakeOne(at int64, space *core.Space, rule core.Rule, key core.Print, cost int64, when core.When) (o core.Taken, f core.Figures, err error) {
	switch {
	case rule == nil:
		return o, f, errRule
	case cost < 0:
		return o, f, errCost
	case space == nil || space.Window() <= 0:
		return o, f, errSpace
	case at < 0:
		return o, f, errAt
	}
	cell := key.Xor(space.ID())
	phase := space.Phase(cell.B)
	read := b.shared.clock.now()
	s := &b.shards[key.A>>b.shift]
	s.mu.Lock()
	if at == 0 && when == core.OnAdmit && cost > 0 {
		step, state := s.admit(fingerprintOf(cell), rule, read, phase, cost)
		if step.Done { // no defer so far: nobody else's code has run under the lock
			f = core.FiguresOf(rule, state, s.last, phase, cost, step.OK)
			o = core.Taken{OK: step.OK, Charged: step.OK, Now: s.last}
			s.tidy(s.shared.clock.tick(s.last))
			s.mu.Unlock()
			return o, f, nil
		}
	}
	return b.takeLocked(at, read, space, rule, key, cost, when)
}

// takeLocked is TakeOne for everything, with the shard's lock held. It unlocks.
func (b *Backend) takeLocked(at, read int64, space *core.Space, rule core.Rule, key core.Print, cost int64, when core.When) (core.Taken, core.Figures, error) {
	var t seat
	b.locatePrint(space, key, at != 0, &t.place)
	t.shard = &b.shards[t.place.shard]
	defer t.shard.unlock()
	var m moment
	t.shard.enter(&m, at, read)
	ask := core.Ask{Cell: core.Cell{Space: space}, Rule: rule, Cost: cost, When: when}
	var v core.Verdict
	b.takeAlone(&t, &ask, &v, &m)
	t.shard.tidy(m.tick)
	return core.Taken{OK: v.OK, Charged: v.Charged, Now: m.now}, v.Figures(), v.Err
}
