package bench

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// The floors are what the machine can do, not products: no growth, no expiry.

const slots = 1 << 22 // 4M slots of 16 bytes, so 1M keys load it to 1/4

type slot struct{ fp, val atomic.Uint64 }

type table struct {
	seed maphash.Seed
	s    []slot
}

func newTable() *table {
	t := &table{seed: maphash.MakeSeed(), s: make([]slot, slots)}
	for i := 0; i < slots; i += 256 {
		t.s[i].val.Store(0) // take the page faults now
	}
	return t
}

// find returns the slot of key, claiming a free one for a new key.
func (t *table) find(key string) *slot {
	h := maphash.String(t.seed, key) | 1
	for i := h >> 20; ; i++ {
		s := &t.s[i&(slots-1)]
		fp := s.fp.Load()
		if fp == h || fp == 0 && (s.fp.CompareAndSwap(0, h) || s.fp.Load() == h) {
			return s
		}
	}
}

var epoch = time.Now()

// gcra takes one event from s: a monotonic clock read, a compare, one CAS.
func gcra(s *slot, emission, burst uint64) (ok bool, tat, now uint64) {
	now = uint64(time.Since(epoch)) + burst
	for {
		old := s.val.Load()
		next := max(old, now) + emission
		if next-now > burst {
			return false, old, now
		}
		if s.val.CompareAndSwap(old, next) {
			return true, next, now
		}
	}
}

func (q Quota) gcra() (emission, burst uint64) {
	return max(1, uint64(q.Per)/uint64(q.N)), max(uint64(q.Per), uint64(q.N))
}

func init() {
	MemoryPeers = append(MemoryPeers,
		MemoryPeer{"floor-nop", func(Quota) Decider {
			return DeciderFunc(func(k string) bool { return k != "" })
		}},
		MemoryPeer{"floor-hash", func(Quota) Decider {
			seed := maphash.MakeSeed()
			return DeciderFunc(func(k string) bool { return maphash.String(seed, k) != 0 })
		}},
		MemoryPeer{"floor-add", func(q Quota) Decider {
			t, n := newTable(), uint64(q.N)
			return DeciderFunc(func(k string) bool { return t.find(k).val.Add(1) <= n })
		}},
		MemoryPeer{"floor-gcra", func(q Quota) Decider {
			t := newTable()
			em, burst := q.gcra()
			return DeciderFunc(func(k string) bool {
				ok, _, _ := gcra(t.find(k), em, burst)
				return ok
			})
		}},
	)
}
