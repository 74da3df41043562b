package memory

import (
	"math/rand/v2"
	"testing"
)

// An index agrees with a map through random growth, shrinking and deletion, also
// where tags are so few that everything collides and wraps around.
func TestIndexAgreesWithAMap(t *testing.T) {
	for _, tags := range []uint32{1, 3, 50, 1 << tagBits} {
		r := rand.New(rand.NewPCG(1, uint64(tags)))
		var x index
		want := map[uint32]bool{}
		for step := range 20_000 {
			slot := (1<<tagBits-1-r.Uint32N(tags))<<addrBits | 1 + r.Uint32N(400)
			switch {
			case want[slot]:
				x.remove(x.at(slot))
				delete(want, slot)
			case r.IntN(2) == 0 || len(want) < 100:
				if !x.roomFor(1) {
					x.resize(x.larger())
				}
				x.add(slot)
				want[slot] = true
			}
			if x.sparse() && r.IntN(50) == 0 {
				x.resize(len(x.slots) / 2)
			}
			if step%100 != 0 {
				continue
			}
			if x.used != len(want) {
				t.Fatalf("%d in use, want %d", x.used, len(want))
			}
			for slot := range want {
				for i := x.home(slot); x.slots[i] != slot; i = x.next(i) {
					if x.slots[i] == 0 {
						t.Fatalf("%d tags, step %d: a slot is lost", tags, step)
					}
				}
			}
		}
	}
}

// Records never overlap, whatever is allocated and released in between.
func TestArenaRecordsAreApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := &pool{max: 64 << 20}
	var a arena
	type owned struct {
		addr uint32
		mark int64
	}
	var all []owned
	for mark := range int64(100_000) {
		if n := len(all); n > 0 && (r.IntN(100) < 45 || n > 3000) {
			i := r.IntN(n)
			for _, w := range a.record(all[i].addr) {
				if w != all[i].mark {
					t.Fatalf("a record of %d was overwritten with %d", all[i].mark, w)
				}
			}
			a.release(p, all[i].addr)
			all[i] = all[n-1]
			all = all[:n-1]
			continue
		}
		addr := a.alloc(p, uint8(r.IntN(len(classes))), false)
		if addr == 0 {
			t.Fatal("no room below the cap")
		}
		rec := a.record(addr)
		for i := range rec {
			rec[i] = mark + 1
		}
		all = append(all, owned{addr, mark + 1})
	}
	for _, o := range all {
		a.release(p, o.addr)
	}
	if len(p.some) != 1 || p.free.Load() != slabChunks {
		t.Errorf("%d slabs and %d free chunks are left, want one slab, all free", len(p.some), p.free.Load())
	}
}

func TestClasses(t *testing.T) {
	for n := 1; n <= mostWords; n++ {
		c := classOf[n]
		if int(classes[c]) < n || c > 0 && int(classes[c-1]) >= n {
			t.Errorf("%d words are of class %d", n, classes[c])
		}
	}
}
