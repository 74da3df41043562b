package memory

// What a cell can be evicted for.
const (
	anyCell  = -1 // its place among the cells
	anyApart = -2 // the bytes of its state apart
	// 0 and up: a record of that class
)

const (
	sampled  = 8   // candidates among which the soonest empty goes
	searched = 512 // slots of the index looked at for them
)

// victim is the position in the index of the cell to evict, or -1: of the
// candidates from the hand on, an expired one, else the one that is empty
// soonest. A cell at its limit is none, unless forced.
func (s *shard) victim(kind int, tick uint32, force bool) int {
	slots := s.index.slots
	best, soonest, seen := -1, uint32(0), 0
	i := s.hand
	for range min(searched, len(slots)) {
		if i++; i >= len(slots) {
			i = 0
		}
		addr := slots[i] & addrMask
		if addr == 0 || !s.fits(kind, addr) || s.isPinned(addr) {
			continue
		}
		flags := uint32(s.arena.record(addr)[1])
		until := flags & expires
		if until <= tick {
			return i
		}
		if flags&atLimit != 0 && !force {
			continue
		}
		if best < 0 || until < soonest {
			best, soonest = i, until
		}
		if seen++; seen == sampled {
			break
		}
	}
	return best
}

func (s *shard) fits(kind int, addr uint32) bool {
	switch kind {
	case anyCell:
		return true
	case anyApart:
		return uint32(s.arena.record(addr)[1])&apart != 0
	}
	return int(s.arena.chunks[addr>>chunkBits].class) == kind
}

func (s *shard) isPinned(addr uint32) bool {
	for _, p := range s.pinned {
		if p == addr {
			return true
		}
	}
	return false
}

// evict drops a victim, which stays counted: its place goes to whoever called.
func (s *shard) evict(kind int, tick uint32, force bool) bool {
	i := s.victim(kind, tick, force)
	if i < 0 {
		return false
	}
	s.evictAt(i, tick)
	s.hand = i
	s.restart()
	return true
}

func (s *shard) evictAt(i int, tick uint32) {
	if uint32(s.arena.record(s.index.slots[i] & addrMask)[1])&expires > tick {
		s.shared.evicted.Add(1)
	}
	s.drop(i)
}

// sweep looks at n slots of the index and drops what has expired. It keeps no
// record of the decision at work apart: it runs when that is done.
func (s *shard) sweep(n int, tick uint32) {
	slots := s.index.slots
	dropped := 0
	for range min(n, len(slots)) {
		if s.hand >= len(slots) {
			s.hand = 0
			s.soonest, s.passed = s.passed, never
		}
		addr := slots[s.hand] & addrMask
		if addr == 0 {
			s.hand++
			continue
		}
		if until := uint32(s.arena.record(addr)[1]) & expires; until <= tick {
			s.drop(s.hand) // the next one may have moved here
			dropped++
		} else {
			s.passed = min(s.passed, until)
			s.hand++
		}
	}
	if dropped != 0 {
		s.shared.cells.Add(int64(-dropped))
		if s.index.sparse() {
			s.resize(len(slots) / 2)
		}
	}
}

// never is later than any expiry.
const never = maxTick + 1

// expect notes the expiry of a cell, which sweeping must not overlook.
func (s *shard) expect(until uint32) {
	if until < s.soonest {
		s.soonest = until
	}
	if until < s.passed {
		s.passed = until
	}
}

// restart has the pass of the sweep at work learn nothing: cells have moved, and
// some may now lie behind the hand that it has not looked at.
func (s *shard) restart() { s.passed = min(s.passed, s.soonest) }

// tidy is the share of sweeping that every call does once something may have
// expired: more where it added a cell, so that a flood of short-lived cells is
// swept as fast as it comes.
func (s *shard) tidy(tick uint32) {
	if tick >= s.soonest {
		s.sweepSome(tick)
	}
}

func (s *shard) sweepSome(tick uint32) {
	if s.calls++; s.added {
		s.added = false
		s.sweep(4, tick)
	} else if s.calls%16 == 0 {
		s.sweep(8, tick)
	}
}
