package memory

import (
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-go/stint/core"
)

var admitted = map[string]core.Strategy{"gcra": core.GCRA{}, "fixed": core.FixedWindow{}, "first": core.FixedWindow{Align: core.FirstHit}, "sliding": core.SlidingWindow{}}

// admit decides by the shortest way, and by the next one where that declines.
func admit(t testing.TB, b *Backend, a core.Ask) bool {
	ok, done := b.Admit(a.Cell.Space, a.Rule, a.Cell.Key.Print(&b.seeds), a.Cost)
	if !done {
		ok = take(t, b, a).OK
	}
	return ok
}

// Two Backends of equal seeds see the same asks, one by Admit and one by
// TakeOne: they answer alike and end up with the same cells.
func TestAdmitIsTakeOne(t *testing.T) {
	for name, s := range admitted {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				short, long := open(t, 64, 1<<20), open(t, 64, 1<<20)
				long.seeds = short.seeds
				declined := 0
				for _, limit := range []int64{3, 7, 0} {
					sp, r := bind(t, "p", s, limit, 10*time.Second)
					rnd := rand.New(rand.NewPCG(uint64(limit), 1))
					for i := range 3000 {
						time.Sleep(time.Duration(rnd.IntN(3)*rnd.IntN(500)) * time.Millisecond)
						a := askFor(sp, r, strconv.Itoa(rnd.IntN(50)), 1+rnd.Int64N(4)*rnd.Int64N(2))
						if rnd.IntN(20) == 0 { // a refund, or a debt
							d := []int64{-1 + 2*rnd.Int64N(2)}
							now := short.shared.clock.now()
							rc := []core.Receipt{{A: now, B: limit, C: 0}}
							for _, b := range []*Backend{short, long} {
								if err := b.Settle(t.Context(), 0, []core.Ask{a}, rc, d); err != nil {
									t.Fatal(err)
								}
							}
						}
						ok, done := short.Admit(sp, r, a.Cell.Key.Print(&short.seeds), a.Cost)
						if !done {
							declined++
							ok = take(t, short, a).OK
						}
						if want := take(t, long, a); ok != want.OK {
							t.Fatalf("limit %d, ask %d: %v, TakeOne %+v", limit, i, ok, want)
						}
						a.When = core.Never
						if got, want := take(t, short, a), take(t, long, a); got != want {
							t.Fatalf("limit %d, ask %d: the cell is %+v, after TakeOne %+v", limit, i, got, want)
						}
					}
				}
				if declined > 2000 {
					t.Errorf("%d of 9000 asks were declined", declined)
				}
				verify(t, short)
			})
		})
	}
}

// The same for TakeOne by the Backend's own clock and Take, with all that a verdict
// says; also of rules that core.Admit declines, and of every When.
func TestTakeOneIsTake(t *testing.T) {
	strategies := map[string]core.Strategy{"moving": core.MovingWindow{}, "bucketed": core.BucketedWindow{Precision: time.Second}}
	maps.Copy(strategies, admitted)
	for name, s := range strategies {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				short, long := open(t, 64, 1<<20), open(t, 64, 1<<20)
				long.seeds = short.seeds
				for _, limit := range []int64{3, 7, 0} {
					sp, r := bind(t, "p", s, limit, 10*time.Second)
					rnd := rand.New(rand.NewPCG(uint64(limit), 2))
					for i := range 3000 {
						time.Sleep(time.Duration(rnd.IntN(3)*rnd.IntN(500)) * time.Millisecond)
						a := askFor(sp, r, strconv.Itoa(rnd.IntN(50)), rnd.Int64N(5)*rnd.Int64N(3))
						a.When = core.When(max(0, rnd.IntN(12)-8))
						got, at, err := one(short, 0, a)
						out := make([]core.Verdict, 1)
						now, wrong := long.Take(t.Context(), 0, []core.Ask{a}, out)
						out[0].Receipt = core.Receipt{}
						if a.Cost == 0 {
							got.Charged = out[0].Charged
						}
						if err != nil || wrong != nil || got != out[0] || at != now {
							t.Fatalf("limit %d, ask %d, %d units, when %d:\n%+v at %d, Take\n%+v at %d; %v, %v",
								limit, i, a.Cost, a.When, got, at, out[0], now, err, wrong)
						}
					}
				}
				verify(t, short)
			})
		})
	}
}

func TestAdmitUnderContention(t *testing.T) {
	for name, s := range admitted {
		b := New()
		sp, r := bind(t, "p", s, 50_000, 24*time.Hour)
		var n atomic.Int64
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for range 2000 {
					if admit(t, b, askFor(sp, r, "one", 1)) {
						n.Add(1)
					}
				}
			})
		}
		wg.Wait()
		// A unit of GCRA returns every 1.7 s.
		if got := n.Load(); got < 50_000 || got > 50_000+map[string]int64{"gcra": 20}[name] {
			t.Errorf("%s: %d of 50000 admitted", name, got)
		}
		verify(t, b)
	}
}

// A flood of newcomers takes no place of a cell at its limit, though it would be
// empty sooner than theirs; also where all of them come by Admit.
func TestAdmitKeepsCellsAtTheirLimit(t *testing.T) {
	b := open(t, 100, 1<<20)
	hour, rh := bind(t, "hour", core.GCRA{}, 2, time.Hour)
	day, rd := bind(t, "day", core.GCRA{}, 2, 24*time.Hour)
	for _, units := range []struct {
		key  string
		cost int64
	}{{"at once", 2}, {"in two", 1}, {"in two", 1}} {
		if !admit(t, b, askFor(hour, rh, units.key, units.cost)) {
			t.Fatal("refused")
		}
	}
	for i := range 5000 {
		admit(t, b, askFor(day, rd, strconv.Itoa(i), 1))
	}
	for _, full := range []string{"at once", "in two"} { // a look earlier would mark the cell, too
		if look := askFor(hour, rh, full, 0); take(t, b, look).Remaining != 0 {
			t.Errorf("newcomers pushed out the cell filled %s", full)
		}
	}
	if s := b.Stats(); s.Cells > 100 || s.Evicted == 0 {
		t.Errorf("%+v", s)
	}
	verify(t, b)
}

// Where nothing can have expired nothing is swept, and what has expired goes all
// the same, whatever was forgotten, refunded or evicted in between.
func TestSweepOverlooksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 100, 1<<20)
		short, rs := bind(t, "short", core.FixedWindow{Align: core.FirstHit}, 100, 3*time.Second)
		long, rl := bind(t, "long", core.FixedWindow{Align: core.FirstHit}, 100, time.Hour)
		rnd := rand.New(rand.NewPCG(1, 2))
		for range 40 {
			some := rnd.IntN(36) // the others are not asked for meanwhile
			for range 200 {
				k := strconv.Itoa(some + rnd.IntN(5))
				admit(t, b, askFor(short, rs, k, 1))
				admit(t, b, askFor(long, rl, k, 1))
				switch a := askFor(long, rl, strconv.Itoa(rnd.IntN(40)), 1); rnd.IntN(40) {
				case 0:
					if err := b.Reset(t.Context(), a.Cell); err != nil {
						t.Fatal(err)
					}
				case 1:
					if err := b.Settle(t.Context(), 0, []core.Ask{a}, make([]core.Receipt, 1), []int64{1}); err != nil {
						t.Fatal(err)
					}
				}
				for i := range b.shards {
					lowerBound(t, &b.shards[i])
				}
			}
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Second)
		for range 16 * 200 {
			admit(t, b, askFor(long, rl, "1", 1))
		}
		alive := int64(0)
		for k := range 40 {
			a := askFor(long, rl, strconv.Itoa(k), 1)
			a.When = core.Never
			if take(t, b, a).Remaining < 100 {
				alive++
			}
		}
		if got := b.Stats().Cells; got != alive {
			t.Errorf("%d cells are left, %d of them alive", got, alive)
		}
		verify(t, b)
	})
}

// Cells that move in the index while a pass of the sweep is under way, as others
// are forgotten, do not slip through it.
func TestSweepSeesCellsThatMove(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		b := open(t, 64, 1<<20)
		s := &b.shards[0]
		for range 100 {
			sp, r := bind(t, "p", core.FixedWindow{Align: core.FirstHit}, 9, time.Duration(1+rnd.IntN(50))*time.Minute)
			a := askFor(sp, r, strconv.Itoa(rnd.IntN(3)), 1)
			if admit(t, b, a); s.index.used > 11 { // 12 fill the index as far as it may be
				var some []core.Cell
				for w := range 50 {
					sp, _ := bind(t, "p", core.FixedWindow{Align: core.FirstHit}, 9, time.Duration(1+w)*time.Minute)
					some = append(some, core.Cell{Space: sp, Key: core.NewKey("k", strconv.Itoa(rnd.IntN(3)))})
				}
				if err := b.Reset(t.Context(), some[rnd.IntN(30):]...); err != nil {
					t.Fatal(err)
				}
			}
			s.sweep(rnd.IntN(6), 0)
			lowerBound(t, s)
		}
	}
}

// lowerBound checks that no cell expires before the tick until which a shard does
// not sweep.
func lowerBound(t *testing.T, s *shard) {
	t.Helper()
	for _, slot := range s.index.slots {
		if slot == 0 {
			continue
		}
		if until := uint32(s.arena.record(slot & addrMask)[1]) & expires; until < s.soonest {
			t.Fatalf("a cell expires at %d, nothing is swept before %d", until, s.soonest)
		}
	}
}
