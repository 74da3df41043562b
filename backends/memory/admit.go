package memory

import "github.com/stint-go/stint/core"

// Admit implements core.Admitter. It declines what core.Admit declines, and
// newcomers for whom there is no room.
func (b *Backend) Admit(space *core.Space, rule core.Rule, key core.Print, cost int64) (ok, done bool) {
	if cost <= 0 || space == nil || space.Window() <= 0 {
		return false, false // for TakeOne to complain about
	}
	cell := key.Xor(space.ID())
	phase := space.Phase(cell.B)
	read := b.shared.clock.now()
	s := &b.shards[key.A>>b.shift]
	s.mu.Lock() // without defer: nobody else's code runs under this lock
	step, _ := s.admit(fingerprintOf(cell), rule, read, phase, cost)
	s.tidy(s.shared.clock.tick(s.last))
	s.mu.Unlock()
	return step.OK, step.Done
}

// admit also returns the state as it has become, to be read before anything else
// is done to the shard.
func (s *shard) admit(p fingerprint, rule core.Rule, read, phase, cost int64) (step core.Step, state core.State) {
	now := max(s.last, read)
	s.last = now
	addr := s.find(p)
	if addr == 0 {
		return s.admitNew(p, rule, phase, cost)
	}
	r := s.arena.record(addr)
	if uint32(r[1])&apart != 0 {
		return core.Step{}, nil
	}
	step = core.Admit(rule, r[headWords:], now, phase, cost)
	if step.OK {
		until := s.shared.clock.expiry(step.Until)
		r[1] = head(p, until)
		s.expect(until)
	}
	if step.Full {
		r[1] |= atLimit
	}
	return step, r[headWords:]
}

// admitNew tries the shortest states first, as a newcomer is given no more room
// than its state needs.
func (s *shard) admitNew(p fingerprint, rule core.Rule, phase, cost int64) (core.Step, core.State) {
	for words := 1; words <= 2; words++ {
		state := s.load(0, words)
		step := core.Admit(rule, state, s.last, phase, cost)
		if !step.Done {
			continue
		}
		if !step.OK {
			return step, state
		}
		if !s.reserve(words, s.shared.clock.tick(s.last)) {
			s.giveBack()
			return core.Step{}, nil
		}
		flags := s.shared.clock.expiry(step.Until)
		if step.Full {
			flags |= atLimit
		}
		s.store(&place{fingerprint: p}, 0, state, words, flags)
		return step, state
	}
	return core.Step{}, nil
}
