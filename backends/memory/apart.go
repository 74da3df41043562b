package memory

import (
	"slices"

	"github.com/stint-go/stint/core"
)

// States that grow, or that are larger than a record, are slices of their own:
// the record holds their index in shard.apart.
type apartState struct {
	state core.State
	bytes int64
}

// isApart tells whether states of so many words are kept apart.
func isApart(words int) bool { return words == 0 || words > mostWords }

func (s *shard) storeApart(p *place, addr uint32, state core.State, words int, flags uint32) uint32 {
	s.expect(flags & expires)
	if addr != 0 {
		if r := s.arena.record(addr); uint32(r[1])&apart != 0 {
			s.setApart(r[2]-1, state)
			r[1] = head(p.fingerprint, flags|apart)
			return addr
		}
	}
	if words > 0 {
		state = slices.Clone(state) // what load gave out is the shard's
	}
	i := s.addApart(state)
	if addr == 0 {
		addr = s.place(p, 0)
	}
	r := s.arena.record(addr)
	r[0], r[1], r[2] = int64(p.body), head(p.fingerprint, flags|apart), i+1
	clear(r[headWords+1:])
	return addr
}

func (s *shard) addApart(state core.State) int64 {
	var i int64
	if n := len(s.vacant); n > 0 {
		i, s.vacant = int64(s.vacant[n-1]), s.vacant[:n-1]
	} else {
		i, s.apart = int64(len(s.apart)), append(s.apart, apartState{})
	}
	s.setApart(i, state)
	return i
}

// setApart counts the bytes of the change, against the claim made for it first.
func (s *shard) setApart(i int64, state core.State) {
	bytes := stateBytes(cap(state))
	more := bytes - s.apart[i].bytes
	s.apart[i] = apartState{state, bytes}
	if covered := min(more, s.claimed); covered > 0 {
		s.claimed -= covered
		more -= covered
	}
	s.shared.pool.bytes.Add(more)
}

func (s *shard) dropApart(i int64) {
	s.shared.pool.bytes.Add(-s.apart[i].bytes)
	s.apart[i] = apartState{}
	s.vacant = append(s.vacant, uint32(i))
}

// stateBytes is what a state of that capacity costs besides its record: its
// words, the entries that lead to it, and what the allocator rounds up.
func stateBytes(words int) int64 { return 64 + 9*int64(words) }

// claimApart claims the bytes that charging the state at addr may need: as much
// again as it has, and a little. It makes room by evicting other such states.
func (s *shard) claimApart(addr uint32, words int, tick uint32) bool {
	room := words
	if addr != 0 {
		if r := s.arena.record(addr); uint32(r[1])&apart != 0 {
			room = cap(s.apart[r[2]-1].state)
		}
	}
	need := stateBytes(room + 64)
	for range 16 {
		if s.shared.pool.claim(need) {
			s.claimed += need
			return true
		}
		if !s.evict(anyApart, tick, false) {
			return false
		}
		s.shared.cells.Add(-1)
	}
	return false
}
