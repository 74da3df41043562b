package memory

import (
	"sync"

	"github.com/stint-go/stint/core"
)

// A shard is a part of the cells, under its lock.
type shard struct {
	mu     sync.Mutex
	last   int64 // the latest reading of the clock
	index  index
	arena  arena
	shared *shared

	soonest  uint32   // no cell expires before this tick: until then nothing is swept
	passed   uint32   // the same of the cells that the hand has passed since the index began
	calls    uint32   // in which something may have expired
	added    bool     // a cell, since the last sweep
	hand     int      // where sweeping and sampling go on in the index
	reserved int      // cells counted for newcomers that are not placed yet
	claimed  int64    // bytes claimed for states that may grow
	pinned   []uint32 // addresses of the decision at work: not to be evicted
	scratch  []int64
	apart    []apartState
	vacant   []uint32 // unused indexes of apart
}

// unlock also gives back what was reserved in vain, be it that a rule panicked.
func (s *shard) unlock() {
	s.giveBack()
	s.mu.Unlock()
}

func (s *shard) giveBack() {
	if s.reserved == 0 && s.claimed == 0 && len(s.pinned) == 0 {
		return
	}
	s.shared.cells.Add(int64(-s.reserved))
	s.shared.pool.bytes.Add(-s.claimed)
	s.reserved, s.claimed, s.pinned = 0, 0, s.pinned[:0]
}

// find is the address of the cell's record, or 0.
func (s *shard) find(p fingerprint) uint32 {
	slots := s.index.slots
	if len(slots) == 0 {
		return 0
	}
	for i := s.index.home(p.tag); ; {
		slot := slots[i]
		if slot == 0 {
			return 0
		}
		if (slot^p.tag)>>addrBits == 0 {
			addr := slot & addrMask
			if r := s.arena.record(addr); uint64(r[0]) == p.body && uint32(r[1]>>32) == p.side {
				return addr
			}
		}
		if i++; i == len(slots) {
			i = 0
		}
	}
}

// load is the state of the cell at addr, or a fresh one for 0, with so many
// words. It is good until the next load, and a copy: the record changes by store
// alone, whatever a rule does. Only states apart are changed in place.
func (s *shard) load(addr uint32, words int) core.State {
	if words > len(s.scratch) {
		s.scratch = make([]int64, max(words, 4))
	}
	state := s.scratch[:words:words]
	n := 0
	if addr != 0 {
		r := s.arena.record(addr)
		if uint32(r[1])&apart != 0 {
			return s.apart[r[2]-1].state
		}
		for r = r[headWords:]; n < len(r) && n < len(state); n++ { // a loop: short, so quicker than copy
			state[n] = r[n]
		}
	}
	for ; n < len(state); n++ {
		state[n] = 0
	}
	if words == 0 {
		return nil
	}
	return state
}

// store writes the state of the cell at addr; 0 stands for a newcomer, for whom
// a place is reserved. It returns the address from now on.
func (s *shard) store(p *place, addr uint32, state core.State, words int, flags uint32) uint32 {
	if isApart(words) {
		return s.storeApart(p, addr, state, words, flags)
	}
	n := len(state)
	for n > 1 && state[n-1] == 0 {
		n--
	}
	if addr == 0 {
		addr = s.place(p, classOf[n])
	} else if n > int(classes[s.arena.chunks[addr>>chunkBits].class]) {
		addr = s.move(p, addr, classOf[n])
	}
	s.expect(flags & expires)
	r := s.arena.record(addr)
	r[0], r[1] = int64(p.body), head(p.fingerprint, flags)
	r = r[headWords:]
	for i := range r {
		if i < n {
			r[i] = state[i]
		} else {
			r[i] = 0
		}
	}
	return addr
}

// place makes a record for a newcomer and enters it into the index.
func (s *shard) place(p *place, class uint8) uint32 {
	addr := s.mustAlloc(class)
	s.reserved--
	s.added = true
	s.index.add(p.tag | addr)
	return addr
}

// move gives the cell a record of a larger class.
func (s *shard) move(p *place, from uint32, class uint8) uint32 {
	s.pinned = append(s.pinned, from)
	to := s.mustAlloc(class)
	s.index.slots[s.index.at(p.tag|from)] = p.tag | to
	s.arena.release(&s.shared.pool, from)
	s.pinned = append(s.pinned, to)
	return to
}

// drop removes the cell at a position of the index, but leaves it counted.
func (s *shard) drop(i int) {
	addr := s.index.slots[i] & addrMask
	if r := s.arena.record(addr); uint32(r[1])&apart != 0 {
		s.dropApart(r[2] - 1)
	}
	s.index.remove(i)
	s.arena.release(&s.shared.pool, addr)
}

// forget removes the cell of that place, if there is one.
func (s *shard) forget(p *place) {
	if addr := s.find(p.fingerprint); addr != 0 {
		s.drop(s.index.at(p.tag | addr))
		s.restart()
		s.shared.cells.Add(-1)
	}
}
