package memory

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-go/stint/core"
)

// A panickyRule panics in the method that is named.
type panickyRule struct {
	core.Rule
	in string
}

func (r panickyRule) Decide(s core.State, now, phase, cost int64) core.Judgement {
	r.trip("Decide")
	return r.Rule.Decide(s, now, phase, cost)
}

func (r panickyRule) Charge(s core.State, now, phase, cost int64) (core.State, core.Receipt) {
	r.trip("Charge")
	return r.Rule.Charge(s, now, phase, cost)
}

func (r panickyRule) Until(s core.State) int64 {
	r.trip("Until")
	return r.Rule.Until(s)
}

func (r panickyRule) Settle(s core.State, now, phase int64, rc core.Receipt, delta int64) core.State {
	r.trip("Settle")
	return r.Rule.Settle(s, now, phase, rc, delta)
}

func (r panickyRule) trip(method string) {
	if r.in == method {
		panic(method)
	}
}

// A rule that panics leaves no lock held, nothing reserved, and fixed states as
// they were.
func TestPanickingRule(t *testing.T) {
	want := map[string]int64{"Decide": 99, "Until": 99, "Charge": 98} // one unit of debt passes where only Charge panics
	for _, s := range []core.Strategy{core.GCRA{}, core.MovingWindow{}} {
		for _, in := range []string{"Decide", "Charge", "Until", "Settle"} {
			b := open(t, 3, 1<<20)
			sp, r := bind(t, "p", s, 100, time.Hour)
			bad := panickyRule{r, in}
			take(t, b, askFor(sp, r, "old", 1))
			for _, key := range []string{"old", "new"} {
				for name, call := range map[string]func(core.Ask){
					"TakeOne": func(a core.Ask) { one(b, 0, a) },
					"Take": func(a core.Ask) {
						b.Take(t.Context(), 0, []core.Ask{askFor(sp, r, "third", 0), a}, make([]core.Verdict, 2))
					},
					"Settle": func(a core.Ask) {
						b.Settle(t.Context(), 0, []core.Ask{a}, make([]core.Receipt, 1), []int64{1})
					},
				} {
					func() {
						defer func() { recover() }()
						call(askFor(sp, bad, key, 1))
						if (name == "Settle") != (in == "Settle") {
							return
						}
						t.Errorf("%s: the panic in %s was swallowed", name, in)
					}()
				}
			}
			if _, fixed := s.(core.GCRA); fixed && in != "Settle" {
				if v := take(t, b, askFor(sp, r, "old", 0)); v.Remaining != want[in] {
					t.Errorf("a panic in %s charged a cell: %+v", in, v)
				}
			}
			if err := b.Reset(t.Context(), askFor(sp, r, "old", 1).Cell, askFor(sp, r, "new", 1).Cell); err != nil {
				t.Fatal(err)
			}
			if v := take(t, b, askFor(sp, r, "old", 100)); !v.OK {
				t.Errorf("after a panic in %s and a reset: %+v", in, v)
			}
			verify(t, b)
		}
	}
}

func TestBadInput(t *testing.T) {
	b := New()
	sp, r := bind(t, "p", core.GCRA{}, 2, time.Hour)
	good := askFor(sp, r, "a", 1)
	negative, ruleless, spaceless, windowless := good, good, good, good
	negative.Cost = -1
	ruleless.Rule = nil
	spaceless.Cell.Space = nil
	windowless.Cell.Space = core.NewSpace("p", 0, "gcra", nil, nil)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	out := make([]core.Verdict, 2)
	for name, err := range map[string]error{
		"negative cost": second(b.Take(t.Context(), 0, []core.Ask{good, negative}, out)),
		"no rule":       second(b.Take(t.Context(), 0, []core.Ask{good, ruleless}, out)),
		"no space":      second(b.Take(t.Context(), 0, []core.Ask{good, spaceless}, out)),
		"no window":     second(b.Take(t.Context(), 0, []core.Ask{good, windowless}, out)),
		"no asks":       second(b.Take(t.Context(), 0, nil, nil)),
		"short out":     second(b.Take(t.Context(), 0, []core.Ask{good}, out)),
		"instant":       second(b.Take(t.Context(), -1, []core.Ask{good, good}, out)),
		"cancelled":     second(b.Take(cancelled, 0, []core.Ask{good, good}, out)),
		"one negative":  third(one(b, 0, negative)),
		"one ruleless":  third(one(b, 0, ruleless)),
		"one spaceless": third(one(b, 0, spaceless)),
		"one instant":   third(one(b, -1, good)),
		"settle short":  b.Settle(t.Context(), 0, []core.Ask{good}, nil, []int64{1}),
		"settle rule":   b.Settle(t.Context(), 0, []core.Ask{ruleless}, make([]core.Receipt, 1), []int64{1}),
		"settle ended":  b.Settle(cancelled, 0, []core.Ask{good}, make([]core.Receipt, 1), []int64{1}),
		"reset space":   b.Reset(t.Context(), spaceless.Cell),
		"reset ended":   b.Reset(cancelled, good.Cell),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if !errors.Is(second(b.Take(cancelled, 0, []core.Ask{good}, out[:1])), context.Canceled) {
		t.Error("the context's own error is lost")
	}
	if s := b.Stats(); s.Cells != 0 {
		t.Errorf("bad input was charged: %+v", s)
	}
	huge := askFor(sp, r, "a", math.MaxInt64)
	huge.When = core.Always
	if v := take(t, b, huge); v.OK || v.RetryAfter != core.Forever {
		t.Errorf("a huge cost: %+v", v)
	}
}

func second[A any](_ A, err error) error        { return err }
func third[A, B any](_ A, _ B, err error) error { return err }

// Windows of a millisecond, eight goroutines, three seconds: cells expire and are
// swept all the time, and each window admits exactly its limit.
func TestFault_G2(t *testing.T) {
	const limit, window = 5, 1000
	type cell struct {
		key string
		at  int64
	}
	type count struct{ asked, admitted int }
	var mu sync.Mutex
	seen := map[cell]count{}
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 20_000, 4<<20)
		sp, r := bind(t, "p", core.FixedWindow{Align: core.Clock}, limit, time.Millisecond)
		crowd, rc := bind(t, "crowd", core.GCRA{}, 100, time.Millisecond)
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(3, uint64(g)))
				for i := range 8000 {
					time.Sleep(time.Duration(rnd.IntN(8)) * 100 * time.Microsecond)
					key := strconv.Itoa(i & 1)
					if i%1000 > 700 {
						key = strconv.Itoa(i) // what is seldom used is swept and made anew
					}
					v, now, err := one(b, 0, askFor(sp, r, key, 1))
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					c := seen[cell{key, now / window}]
					c.asked++
					if v.OK {
						c.admitted++
					}
					seen[cell{key, now / window}] = c
					mu.Unlock()
					if _, _, err := one(b, 0, askFor(crowd, rc, strconv.Itoa(i), 1)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if s := b.Stats(); s.Evicted != 0 || s.Cells > 15_000 {
			t.Errorf("the cells were not swept: %+v", s)
		}
		verify(t, b)
	})
	full := 0
	for k, c := range seen {
		if c.admitted != min(limit, c.asked) {
			t.Errorf("window %d of %s: %d of %d admitted", k.at, k.key, c.admitted, c.asked)
		}
		if c.asked > limit {
			full++
		}
	}
	if full < 100 {
		t.Errorf("only %d windows were full: the test shows nothing", full)
	}
}

// Many at once by the short way, which the contract's contention does not take:
// judging and charging are one step.
func TestContentionOfTheShortWay(t *testing.T) {
	const limit, callers = 400, 16
	b := New()
	sp, r := bind(t, "p", core.FixedWindow{}, limit, 365*24*time.Hour)
	for round := range 100 {
		at := int64(round%2) * 1e15 // by the backend's own clock, and not
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range 2 * limit / callers {
					if v, _, err := one(b, at, askFor(sp, r, strconv.Itoa(round), 1)); err != nil {
						t.Error(err)
					} else if v.OK {
						admitted.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if n := admitted.Load(); n != limit {
			t.Fatalf("round %d: %d admitted, the limit is %d", round, n, limit)
		}
	}
}

// Decisions over the same cells in any order, with corrections, resets and
// evictions between: nothing waits for ever, and nobody gets more than the limit.
func TestOverlappingDecisions(t *testing.T) {
	const limit = 50
	b := open(t, 500, 1<<20)
	sp, r := bind(t, "p", core.GCRA{}, limit, 365*24*time.Hour) // never the soonest to be empty
	crowd, rc := bind(t, "crowd", core.SlidingWindow{}, 1000, time.Hour)
	grows, rg := bind(t, "grows", core.MovingWindow{}, 1000, time.Hour)
	var wg sync.WaitGroup
	var mu sync.Mutex
	admitted := map[string]int{}
	for g := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(7, uint64(g)))
			for i := range 3000 {
				keys := rnd.Perm(12)[:1+rnd.IntN(10)]
				asks := make([]core.Ask, 0, 12)
				for _, k := range keys {
					asks = append(asks, askFor(sp, r, strconv.Itoa(k), 1))
				}
				soft := askFor(crowd, rc, strconv.Itoa(rnd.IntN(5000)), 1)
				soft.Soft = true
				other := askFor(grows, rg, strconv.Itoa(rnd.IntN(300)), 1)
				other.Soft, other.Group = true, 1
				asks = append(asks, soft, other)
				out := make([]core.Verdict, len(asks))
				if _, err := b.Take(t.Context(), 0, asks, out); err != nil {
					t.Error(err)
					return
				}
				for j := range keys {
					if out[j].Charged != out[0].Charged {
						t.Error("half a decision was charged")
						return
					}
				}
				if out[0].Charged {
					mu.Lock()
					for _, k := range keys {
						admitted[strconv.Itoa(k)]++
					}
					mu.Unlock()
				}
				n := len(asks)
				switch i % 10 {
				case 3:
					b.Settle(t.Context(), 0, asks[n-2:], []core.Receipt{out[n-2].Receipt, out[n-1].Receipt}, []int64{-1, 1})
				case 7:
					b.Reset(t.Context(), soft.Cell, other.Cell)
				}
			}
		})
	}
	wg.Wait()
	for k := range 12 {
		if n := admitted[strconv.Itoa(k)]; n > limit {
			t.Errorf("key %d: %d admitted, the limit is %d", k, n, limit)
		}
	}
	if s := b.Stats(); s.Evicted == 0 || s.Cells > 500 {
		t.Errorf("the test shows nothing, or the cap does not hold: %+v", s)
	}
	verify(t, b)
}

// A reset empties both clocks' cells, and the memory goes to others.
func TestResetFreesForReuse(t *testing.T) {
	b := open(t, 200, 1<<20)
	for _, s := range []core.Strategy{core.GCRA{}, core.BucketedWindow{}, core.MovingWindow{}} {
		sp, r := bind(t, "p", s, 5, time.Hour)
		var cells []core.Cell
		for range 3 {
			for i := range 90 {
				a := askFor(sp, r, strconv.Itoa(i), 5)
				if v := take(t, b, a); !v.OK {
					t.Fatalf("after a reset: %+v", v)
				}
				if v, _, _ := one(b, 1e15, a); !v.OK {
					t.Fatalf("explicit instant after a reset: %+v", v)
				}
				cells = append(cells, a.Cell)
			}
			if err := b.Reset(t.Context(), cells...); err != nil {
				t.Fatal(err)
			}
			if st := b.Stats(); st.Cells != 0 || st.Overflowed != 0 {
				t.Fatalf("after a reset: %+v", st)
			}
			verify(t, b)
		}
	}
}

func TestNothingIsAllocatedPerDecision(t *testing.T) {
	b := New()
	open, r := bind(t, "open", core.GCRA{}, 1_000_000, time.Second)
	shut, r0 := bind(t, "shut", core.SlidingWindow{}, 1, time.Hour)
	peek := askFor(shut, r0, "new", 1)
	peek.When = core.Never
	var asks []core.Ask
	for i := range 8 {
		asks = append(asks, askFor(open, r, strconv.Itoa(i), 1))
	}
	out := make([]core.Verdict, len(asks))
	ctx := context.Background()
	take(t, b, askFor(shut, r0, "a", 1))
	for name, f := range map[string]func(){
		"admitted": func() { one(b, 0, asks[0]) },
		"refused":  func() { one(b, 0, askFor(shut, r0, "a", 1)) },
		"peek":     func() { one(b, 0, peek) },
		"four":     func() { b.Take(ctx, 0, asks[:4], out[:4]) },
		"eight":    func() { b.Take(ctx, 0, asks, out) },
	} {
		f()
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// A Backend is nothing but memory: no goroutine comes with it, and so it needs no
// Close.
func TestFault_G4(t *testing.T) {
	before := runtime.NumGoroutine()
	sp, r := bind(t, "p", core.GCRA{}, 1, time.Hour)
	for range 10_000 {
		take(t, open(t, 100, 1<<20), askFor(sp, r, "a", 1))
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines more", after-before)
	}
}
