package memory

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stint-go/stint/core"
)

// bind is a rule and its space.
func bind(t testing.TB, name string, s core.Strategy, limit int64, window time.Duration) (*core.Space, core.Rule) {
	t.Helper()
	r, err := s.Bind(core.Rate{Limit: limit, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	return core.NewSpace(name, window.Microseconds(), r.Shape(), nil, nil), r
}

func askFor(sp *core.Space, r core.Rule, key string, cost int64) core.Ask {
	return core.Ask{Cell: core.Cell{Space: sp, Key: core.NewKey("k", key)}, Rule: r, Cost: cost}
}

func open(t testing.TB, cells, bytes int) *Backend {
	t.Helper()
	b, err := NewWith(Options{MaxCells: cells, MaxBytes: bytes})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func take(t testing.TB, b *Backend, a core.Ask) core.Verdict {
	t.Helper()
	v, _, err := one(b, 0, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// verify checks that index, records, free lists and counters of a Backend at
// rest tell the same story.
func verify(t testing.TB, b *Backend) {
	t.Helper()
	cells, bytes, used := 0, int64(len(b.shards))*int64(unsafe.Sizeof(shard{})), int64(0)
	slabs := map[*slab]bool{}
	for i := range b.shards {
		s := &b.shards[i]
		if s.reserved != 0 || s.claimed != 0 || len(s.pinned) != 0 {
			t.Fatalf("shard %d at rest: reserved %d, claimed %d, pinned %d", i, s.reserved, s.claimed, len(s.pinned))
		}
		cells += s.index.used
		bytes += 4*int64(len(s.index.slots)) + int64(cap(s.arena.chunks))*int64(unsafe.Sizeof(chunk{}))
		seen := map[uint32]bool{}
		for j, slot := range s.index.slots {
			addr := slot & addrMask
			if slot == 0 {
				continue
			}
			if seen[addr] || uint32(s.arena.record(addr)[1]) == 0 {
				t.Fatalf("slot %d of shard %d leads to a record that is shared or free", j, i)
			}
			seen[addr] = true
			for k := s.index.home(slot); k != j; k = s.index.next(k) {
				if s.index.slots[k] == 0 {
					t.Fatalf("slot %d of shard %d can not be found from its home", j, i)
				}
			}
		}
		if len(seen) != s.index.used {
			t.Fatalf("shard %d: %d slots in use, counted %d", i, len(seen), s.index.used)
		}
		live := 0
		for n := range s.arena.chunks {
			c := &s.arena.chunks[n]
			if c.words == nil {
				continue
			}
			used++
			slabs[c.slab] = true
			free := 0
			for o := c.free; o != noFree; o = uint16(c.words[o]) {
				if c.words[o+1] != 0 {
					t.Fatal("a live record is on the free list")
				}
				free++
			}
			if free+int(c.live) != chunkWords/recordWords(c.class) {
				t.Fatalf("chunk %d of shard %d: %d free and %d live records", n, i, free, c.live)
			}
			live += int(c.live)
		}
		if live != s.index.used {
			t.Fatalf("shard %d: %d live records, %d in the index", i, live, s.index.used)
		}
		for _, a := range s.apart {
			bytes += a.bytes
		}
	}
	for _, s := range b.shared.pool.some {
		slabs[s] = true
	}
	bytes += int64(len(slabs)) * slabBytes
	if got := b.Stats(); got.Cells != int64(cells) {
		t.Fatalf("Stats.Cells %d, found %d", got.Cells, cells)
	}
	if got := b.shared.pool.bytes.Load(); got != bytes {
		t.Fatalf("bytes counted %d, found %d", got, bytes)
	}
	if got := b.shared.pool.free.Load(); got != int64(len(slabs))*slabChunks-used {
		t.Fatalf("free chunks counted %d, found %d", got, int64(len(slabs))*slabChunks-used)
	}
}

// one is a decision of one ask by the short way.
func one(b *Backend, at int64, a core.Ask) (core.Verdict, int64, error) {
	o, f, err := b.TakeOne(at, a.Cell.Space, a.Rule, a.Cell.Key.Print(&b.seeds), a.Cost, a.When)
	j := core.Judgement{OK: o.OK, Remaining: f.Remaining, RetryAfter: f.RetryAfter, NextAfter: f.NextAfter, ResetAfter: f.ResetAfter}
	return core.Verdict{Judgement: j, Charged: o.Charged}, o.Now, err
}
