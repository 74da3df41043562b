package memory

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-go/stint/core"
)

// A call that read its clock before others goes on from their instant.
func TestClockOfAShardNeverGoesBack(t *testing.T) {
	b := New()
	var m moment
	s := &b.shards[0]
	s.enter(&m, 0, b.shared.clock.wall+5e6)
	s.enter(&m, 0, b.shared.clock.wall+1e6)
	if m.now != b.shared.clock.wall+5e6 || m.tick != 4 {
		t.Errorf("the moment is %d, tick %d", m.now-b.shared.clock.wall, m.tick)
	}
	s.enter(&m, 17, b.shared.clock.wall+2e6)
	if m.now != 17 || m.tick != 4 || !m.explicit {
		t.Errorf("an explicit moment is %+v", m)
	}
}

// All cells of one identity lie in one shard, so that its rates need one lock.
func TestOneShardPerIdentity(t *testing.T) {
	b := New()
	shards := map[uint32]bool{}
	for i := range 1000 {
		key, p, same := core.NewKey("k", strconv.Itoa(i)), place{}, place{}
		for j := range 4 {
			sp := core.NewSpace("p"+strconv.Itoa(j), 1000, "gcra", nil, nil)
			b.locate(&core.Cell{Space: sp, Key: key}, j%2 == 1, &p)
			if j == 0 {
				same = p
			}
			if p.shard != same.shard || j > 0 && p.body == same.body {
				t.Fatalf("%+v and %+v", p, same)
			}
		}
		shards[p.shard] = true
	}
	if len(shards) < len(b.shards)/2 {
		t.Errorf("1000 keys lie in %d shards", len(shards))
	}
}

// States of very many words are apart, also from one another.
func TestManyWords(t *testing.T) {
	b := open(t, 100, 1<<20) // one shard
	r, err := core.BucketedWindow{}.Bind(core.Rate{Limit: 10, Window: 100 * time.Second, Precision: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if r.Words() <= mostWords {
		t.Fatalf("only %d words", r.Words())
	}
	sp := core.NewSpace("p", 100e6, r.Shape(), nil, nil)
	for _, step := range []struct {
		key       string
		cost, rem int64
	}{{"a", 4, 6}, {"b", 1, 9}, {"a", 1, 5}, {"b", 3, 6}, {"a", 5, 0}} {
		if v, _, _ := one(b, 1e15, askFor(sp, r, step.key, step.cost)); !v.OK || v.Remaining != step.rem {
			t.Fatalf("%+v: %+v", step, v)
		}
	}
	if v, _, _ := one(b, 1e15, askFor(sp, r, "a", 1)); v.OK {
		t.Error("admitted above the limit")
	}
	verify(t, b)
}

// A cell that has just refused is at its limit, though it has a rest; one that
// was asked for more than can ever be is not.
func TestWhoIsRefusedIsAtTheLimit(t *testing.T) {
	b := open(t, 100, 1<<20)
	sp, r := bind(t, "p", core.GCRA{}, 10, time.Minute)
	crowd, rc := bind(t, "crowd", core.GCRA{}, 100, 24*time.Hour) // empty later
	for _, k := range []string{"refused", "silly"} {
		take(t, b, askFor(sp, r, k, 8))
	}
	take(t, b, askFor(sp, r, "refused", 5))
	take(t, b, askFor(sp, r, "silly", 11))
	for i := range 5000 {
		take(t, b, askFor(crowd, rc, strconv.Itoa(i), 10))
	}
	if take(t, b, askFor(sp, r, "refused", 5)).OK {
		t.Error("who was refused got a fresh cell by a flood")
	}
	if !take(t, b, askFor(sp, r, "silly", 5)).OK {
		t.Error("a cost beyond all reason protects a cell")
	}
}

// Having been at its limit protects a cell no longer than it lives.
func TestExpiredGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 2, 1<<20)
		sp, r := bind(t, "p", core.GCRA{}, 1, time.Minute)
		take(t, b, askFor(sp, r, "a", 1))
		time.Sleep(30 * time.Second)
		take(t, b, askFor(sp, r, "b", 1))
		time.Sleep(32 * time.Second)
		if !take(t, b, askFor(sp, r, "c", 1)).OK || take(t, b, askFor(sp, r, "b", 1)).OK {
			t.Error("the expired cell did not make way")
		}
		if s := b.Stats(); s.Cells != 2 || s.Evicted != 0 || s.Overflowed != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}
