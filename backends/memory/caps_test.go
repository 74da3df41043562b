package memory

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-go/stint/core"
)

func TestOptions(t *testing.T) {
	if b := New(); b.shared.maxCells != DefaultMaxCells || b.shared.pool.max != DefaultMaxBytes {
		t.Error("New has other caps than the defaults")
	}
	_, err := NewWith(Options{MaxCells: -1, MaxBytes: 1000})
	if err == nil || !strings.Contains(err.Error(), "MaxCells -1") || !strings.Contains(err.Error(), "MaxBytes 1000") {
		t.Errorf("not all complaints at once: %v", err)
	}
	for _, o := range []Options{{1, 1 << 20}, {100, 0}, {0, 1 << 20}, {10_000_000, 1 << 30}, {mostCells, 1 << 40 & (1<<(strconv.IntSize-1) - 1)}} {
		b, err := NewWith(o)
		if o.MaxBytes == 0 && strconv.IntSize == 32 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		sp, r := bind(t, "p", core.GCRA{}, 3, time.Hour)
		for range 3 {
			if !take(t, b, askFor(sp, r, "a", 1)).OK {
				t.Errorf("%+v: refused below the limit", o)
			}
		}
		if take(t, b, askFor(sp, r, "a", 1)).OK {
			t.Errorf("%+v: admitted above the limit", o)
		}
	}
}

// A flood of new identities, each far from its limit, stays within the cap and
// does not push out the cell that is at its limit.
func TestFault_G1(t *testing.T) {
	b := open(t, 2000, 1<<20)
	sp, r := bind(t, "p", core.GCRA{}, 100, time.Hour)
	minute, rm := bind(t, "minute", core.GCRA{}, 100, time.Minute) // empty long before the crowd
	if !take(t, b, askFor(minute, rm, "v", 100)).OK {
		t.Fatal("refused below the limit")
	}
	victims := []string{"v1", "v2", "v3"}
	for _, k := range victims {
		if !take(t, b, askFor(sp, r, k, 100)).OK {
			t.Fatal("refused below the limit")
		}
	}
	for i := range 100_000 {
		take(t, b, askFor(sp, r, strconv.Itoa(i), 1+int64(i%50)))
		if s := b.Stats(); s.Cells > 2000 || s.Bytes > 1<<20 {
			t.Fatalf("above the caps: %+v", s)
		}
	}
	for _, k := range victims {
		if take(t, b, askFor(sp, r, k, 1)).OK {
			t.Errorf("%s was at its limit and was let in after the flood", k)
		}
	}
	if take(t, b, askFor(minute, rm, "v", 100)).OK {
		t.Error("who was at the limit of a minute was let in after the flood")
	}
	if s := b.Stats(); s.Cells != 2000 || s.Evicted != 98_004 || s.Overflowed != 0 {
		t.Errorf("stats %+v", s)
	}
	verify(t, b)
}

// Where all are at their limit, newcomers share one cell per space.
func TestOverflow(t *testing.T) {
	for name, s := range map[string]core.Strategy{"gcra": core.GCRA{}, "moving": core.MovingWindow{}, "fixed": core.FixedWindow{}} {
		t.Run(name, func(t *testing.T) {
			b := open(t, 64, 1<<20)
			one, r1 := bind(t, "one", s, 1, time.Hour)
			for i := range 64 {
				take(t, b, askFor(one, r1, strconv.Itoa(i), 1))
			}
			if st := b.Stats(); st.Overflowed != 0 || st.Cells != 64 {
				t.Fatalf("stats %+v", st)
			}
			three, r3 := bind(t, "three", s, 3, time.Hour)
			peek := askFor(three, r3, "new9", 1)
			peek.When = core.Never
			for i := range 5 {
				looked := take(t, b, peek)
				v := take(t, b, askFor(three, r3, "new"+strconv.Itoa(i), 1))
				if v.OK != (i < 3) || looked.OK != v.OK || v.OK && v.Remaining != int64(2-i) {
					t.Errorf("newcomer %d: %+v, a peek before: %+v", i, v, looked)
				}
			}
			for i := range 64 {
				if take(t, b, askFor(one, r1, strconv.Itoa(i), 1)).OK {
					t.Errorf("%d was pushed out at its limit", i)
				}
			}
			if st := b.Stats(); st.Evicted != 0 || st.Overflowed != 10 || st.Cells != 64 {
				t.Errorf("stats %+v", st)
			}
			verify(t, b)
		})
	}
}

// Two newcomers of one decision on one overflow cell: together within its limit,
// and nothing of a decision that does not fit.
func TestOverflowWithinOneDecision(t *testing.T) {
	b := open(t, 1, 1<<20)
	sp, r := bind(t, "p", core.GCRA{}, 5, time.Hour)
	take(t, b, askFor(sp, r, "full", 5))
	admitted := 0
	for i := range 4 {
		asks := []core.Ask{askFor(sp, r, fmt.Sprint("a", i), 1), askFor(sp, r, fmt.Sprint("b", i), 1)}
		out := make([]core.Verdict, 2)
		if _, err := b.Take(t.Context(), 0, asks, out); err != nil {
			t.Fatal(err)
		}
		if out[0].Charged != out[1].Charged {
			t.Fatalf("half a decision: %+v", out)
		}
		if out[0].Charged {
			admitted++
		}
	}
	if admitted != 2 {
		t.Errorf("%d decisions of 2 units admitted by 5 units", admitted)
	}
	if v := take(t, b, askFor(sp, r, "c", 1)); !v.OK || v.Remaining != 0 {
		t.Errorf("the fifth unit: %+v", v)
	}
	verify(t, b)
}

// The order of eviction: expired first, then the soonest empty.
func TestEvictionOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 5, 1<<20)
		sp, r := bind(t, "p", core.GCRA{}, 10, 100*time.Second)
		for i, cost := range []int64{4, 2, 6, 3, 10} { // "4" is at its limit
			take(t, b, askFor(sp, r, strconv.Itoa(i), cost))
		}
		holds := func(want string) {
			t.Helper()
			var got []string
			for _, k := range []string{"0", "1", "2", "3", "4", "x", "y", "z"} {
				a := askFor(sp, r, k, 0)
				a.When = core.Never
				if take(t, b, a).Remaining < 10 {
					got = append(got, k)
				}
			}
			if s := strings.Join(got, ""); s != want {
				t.Fatalf("cells held: %s, want %s", s, want)
			}
		}
		holds("01234")
		take(t, b, askFor(sp, r, "x", 9))
		holds("0234x") // without 1, empty after 20 s
		take(t, b, askFor(sp, r, "y", 8))
		holds("024xy") // without 3
		time.Sleep(62 * time.Second)
		if s := b.Stats(); s.Evicted != 2 {
			t.Errorf("stats %+v", s)
		}
		take(t, b, askFor(sp, r, "z", 1)) // takes the place of an expired one
		holds("4xyz")
		if s := b.Stats(); s.Evicted != 2 {
			t.Errorf("an expired cell counts as evicted: %+v", s)
		}
		verify(t, b)
	})
}

// The cap in bytes holds for every kind of state, with classes mixed, and a
// newcomer of one class gets the bytes of another.
func TestBytes(t *testing.T) {
	const limit = 1 << 20
	for name, s := range map[string]core.Strategy{
		"gcra": core.GCRA{}, "sliding": core.SlidingWindow{}, "buckets": core.BucketedWindow{}, "moving": core.MovingWindow{},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, 1_000_000, limit)
			first, r1 := bind(t, "first", core.GCRA{}, 100, time.Hour)
			for i := range 50_000 {
				take(t, b, askFor(first, r1, strconv.Itoa(i), 1))
			}
			full := b.Stats()
			if full.Bytes < limit/2 || full.Evicted == 0 {
				t.Fatalf("the cap was not reached: %+v", full)
			}
			sp, r := bind(t, "then", s, 1000, time.Hour)
			for i := range 30_000 {
				take(t, b, askFor(sp, r, strconv.Itoa(i%7000), 1))
				if got := b.Stats(); got.Bytes > limit {
					t.Fatalf("call %d: %+v", i, got)
				}
			}
			if got := b.Stats(); got.Overflowed != 0 {
				t.Errorf("overflow although nobody is at the limit: %+v", got)
			}
			verify(t, b)
		})
	}
}

// A moving window that fills up under a full cap gets its bytes from others, or
// an error; never is the cap passed.
func TestBytesGrow(t *testing.T) {
	b := open(t, 1000, 1<<20)
	sp, r := bind(t, "m", core.MovingWindow{}, 5000, time.Hour)
	failed := 0
	for i := range 60_000 {
		one(b, int64(1e15+i), askFor(sp, r, strconv.Itoa(i%40), 1))
		v, _, err := one(b, int64(1e15+i), askFor(sp, r, strconv.Itoa(i%40), 1))
		if err != nil {
			failed++
			if v.OK || v.Charged {
				t.Fatalf("an error that admits: %+v", v)
			}
		}
		if got := b.Stats(); got.Bytes > 1<<20 {
			t.Fatalf("call %d: %+v", i, got)
		}
	}
	if b.Stats().Evicted == 0 && failed == 0 {
		t.Error("the cap was never reached")
	}
	verify(t, b)
}

// What has expired goes by the calls on others, without being asked for, and its
// memory with it.
func TestReclaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 100, 1<<20)
		sp, r := bind(t, "p", core.GCRA{}, 100, time.Second)
		grows, rg := bind(t, "g", core.MovingWindow{}, 100, time.Second)
		for i := range 45 {
			take(t, b, askFor(sp, r, strconv.Itoa(i), 1))
			take(t, b, askFor(grows, rg, strconv.Itoa(i), 1))
		}
		time.Sleep(5 * time.Second)
		for range 16 * 100 {
			take(t, b, askFor(sp, r, "alone", 1))
			time.Sleep(50 * time.Millisecond)
		}
		if s := b.Stats(); s.Cells != 1 || s.Evicted != 0 {
			t.Errorf("stats %+v", s)
		}
		if b.shards[0].index.used != 1 || len(b.shards[0].index.slots) > 16 {
			t.Errorf("an index of %d slots for one cell", len(b.shards[0].index.slots))
		}
		verify(t, b)
	})
}

// The calls of a decision that changes nothing leave nothing behind.
func TestRefusalsAndPeeksInsertNothing(t *testing.T) {
	b := New()
	sp, r := bind(t, "p", core.GCRA{}, 1, time.Hour)
	none, r0 := bind(t, "none", core.GCRA{}, 0, time.Hour)
	take(t, b, askFor(sp, r, "full", 1))
	before := b.Stats()
	for i := range 1000 {
		peek := askFor(sp, r, strconv.Itoa(i), 1)
		peek.When = core.Never
		take(t, b, peek)
		take(t, b, askFor(none, r0, strconv.Itoa(i), 1))
		take(t, b, askFor(sp, r, strconv.Itoa(i), 2))
		take(t, b, askFor(sp, r, strconv.Itoa(i), 0))
		out := make([]core.Verdict, 2)
		asks := []core.Ask{askFor(sp, r, "new"+strconv.Itoa(i), 1), askFor(sp, r, "full", 1)}
		if _, err := b.Take(context.Background(), 0, asks, out); err != nil || out[0].Charged || out[1].OK {
			t.Fatal(out, err)
		}
		if err := b.Settle(t.Context(), 0, asks[:1], make([]core.Receipt, 1), []int64{-1}); err != nil {
			t.Fatal(err)
		}
	}
	if after := b.Stats(); after != before {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
