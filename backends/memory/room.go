package memory

// reserve makes room for one more cell with so many words, if need be by
// eviction, and counts it. It inserts nothing: a decision that is refused after
// all, or a rule that panics, leaves no trace.
func (s *shard) reserve(words int, tick uint32) bool {
	class := 0
	if !isApart(words) {
		class = int(classOf[words])
	}
	if !s.indexRoom(tick) || !s.arenaRoom(class, tick, false) {
		return false
	}
	if s.shared.cells.Add(1) > s.shared.maxCells {
		s.shared.cells.Add(-1)
		if !s.evict(anyCell, tick, false) {
			return false
		}
	}
	s.reserved++
	return true
}

// crowded reports whether a newcomer would get an overflow cell.
func (s *shard) crowded(tick uint32) bool {
	return s.shared.cells.Load() >= s.shared.maxCells && s.victim(anyCell, tick, false) < 0
}

func (s *shard) indexRoom(tick uint32) bool {
	if s.index.roomFor(s.reserved + 1) {
		return true
	}
	if n := s.index.larger(); n <= mostSlots && s.resize(n) {
		return true
	}
	if !s.evict(anyCell, tick, false) {
		return false
	}
	s.shared.cells.Add(-1)
	return true
}

// resize gives the index another size, if the bytes for a larger one can be had.
func (s *shard) resize(slots int) bool {
	more := 4 * int64(slots-len(s.index.slots))
	if more < 0 {
		s.shared.pool.bytes.Add(more)
	} else if !s.shared.pool.claim(more) {
		return false
	}
	s.index.resize(slots)
	s.restart()
	return true
}

// arenaRoom makes sure of a free record of a class, or of a chunk to cut it from.
// Forced, it takes even cells at their limit.
func (s *shard) arenaRoom(class int, tick uint32, force bool) bool {
	if s.arena.room[class] != 0 || s.arena.numbers() && s.shared.pool.open() {
		return true
	}
	if s.evict(class, tick, force) {
		s.shared.cells.Add(-1)
		return true
	}
	return s.vacate(tick, force)
}

// vacate frees a whole chunk, for another class, at the cost of the cells in it.
func (s *shard) vacate(tick uint32, force bool) bool {
	for n := 1; n < len(s.arena.chunks); n++ {
		if s.arena.chunks[n].words == nil || !s.canVacate(uint32(n), tick, force) {
			continue
		}
		for i := 0; i < len(s.index.slots); {
			if s.index.slots[i]&addrMask>>chunkBits == uint32(n) {
				s.evictAt(i, tick) // the next one may have moved here
				s.shared.cells.Add(-1)
			} else {
				i++
			}
		}
		s.restart()
		return true
	}
	return false
}

func (s *shard) canVacate(n, tick uint32, force bool) bool {
	c := &s.arena.chunks[n]
	size := recordWords(c.class)
	for o := 0; o+size <= chunkWords; o += size {
		flags := uint32(c.words[o+1])
		if flags == 0 {
			continue
		}
		if s.isPinned(n<<chunkBits|uint32(o)) || !force && flags&atLimit != 0 && flags&expires > tick {
			return false
		}
	}
	return true
}

// mustAlloc is a record for a state that is decided already. The room was made
// sure of; where another shard was quicker to the last bytes, or where a state
// has outgrown its record, others make way, and a chunk above the cap is the
// last resort.
func (s *shard) mustAlloc(class uint8) uint32 {
	p := &s.shared.pool
	if addr := s.arena.alloc(p, class, false); addr != 0 {
		return addr
	}
	tick := s.shared.clock.tick(s.last)
	if s.arenaRoom(int(class), tick, false) || s.arenaRoom(int(class), tick, true) {
		if addr := s.arena.alloc(p, class, false); addr != 0 {
			return addr
		}
	}
	addr := s.arena.alloc(p, class, true)
	if addr == 0 {
		panic("memory: more cells in one decision than a shard has room for")
	}
	return addr
}
