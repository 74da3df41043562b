package denycache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// A front is a store with a Cache before it, as a remote backend has them: every
// Take takes its time on the way there and back, and the store's clock is wrong.
type front struct {
	t     *testing.T
	cache *Cache
	store core.Backend
	skew  int64
	there time.Duration
	back  time.Duration
}

func newFront(t *testing.T, s Settings) *front {
	return &front{t: t, cache: New(s), store: memory.New(), skew: 12345678}
}

func (f *front) now() int64 { return time.Now().UnixMicro() + f.skew }

// ask is a Take that goes to the store.
func (f *front) ask(asks ...core.Ask) []core.Verdict {
	f.t.Helper()
	sent, out := f.cache.Now(), make([]core.Verdict, len(asks))
	<-time.After(f.there)
	now, err := f.store.Take(context.Background(), f.now(), asks, out)
	if err != nil {
		f.t.Fatal(err)
	}
	<-time.After(f.back)
	f.cache.Learn(sent, now, asks, out)
	return out
}

// peek is how the store would decide.
func (f *front) peek(asks ...core.Ask) []core.Verdict {
	f.t.Helper()
	look, out := append([]core.Ask(nil), asks...), make([]core.Verdict, len(asks))
	for i := range look {
		look[i].When = core.Never
	}
	if _, err := f.store.Take(context.Background(), f.now(), look, out); err != nil {
		f.t.Fatal(err)
	}
	return out
}

// known tells whether the cache refuses, and checks that it has the right to and
// that what it says is so.
func (f *front) known(asks ...core.Ask) bool {
	f.t.Helper()
	which, o := f.cache.Refuse(asks)
	if len(asks) == 1 && !asks[0].Soft && asks[0].When != core.Always && asks[0].When != core.OnRefuse {
		one, refused := f.cache.RefuseOne(asks[0].Cell.Space, asks[0].Rule, asks[0].Cell.Key.Print(f.cache.Seeds()), asks[0].Cost)
		if refused != (which == 0) || one.Judgement != o.Judgement {
			f.t.Fatalf("RefuseOne says %v %+v, Refuse %v %+v", refused, one, which, o)
		}
	}
	if which < 0 {
		return false
	}
	v := f.peek(asks...)[which]
	slack := (f.there + f.back).Microseconds()
	if v.OK || o.OK || o.Remaining != v.Remaining || !near(o.RetryAfter, v.RetryAfter, slack) ||
		!near(o.NextAfter, v.NextAfter, slack) || !near(o.ResetAfter, v.ResetAfter, slack) {
		f.t.Fatalf("remembered is %+v, the store says %+v", o.Judgement, v.Judgement)
	}
	if v.RetryAfter != core.Forever && !near(o.Now, f.now(), slack+1) && !near(f.now(), o.Now, slack+1) {
		f.t.Fatalf("remembered is the instant %d, it is %d", o.Now, f.now())
	}
	return true
}

// near: never less, so that the promise holds, and more by what the way took.
func near(got, want, slack int64) bool { return got >= want && got-want <= slack || got == want }

var strategies = []core.Strategy{
	core.FixedWindow{}, core.SlidingWindow{}, core.BucketedWindow{}, core.MovingWindow{}, core.GCRA{}, core.GCRA{Burst: 2},
	core.FixedWindow{Align: core.FirstHit},
}

func asking(t testing.TB, s core.Strategy, policy, key string, n int64, window time.Duration, cost int64) core.Ask {
	t.Helper()
	rule, err := s.Bind(core.Rate{Limit: n, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	space := core.NewSpace(policy, window.Microseconds(), rule.Shape(), nil, nil)
	return core.Ask{Cell: core.Cell{Space: space, Key: core.NewKey("k", key)}, Rule: rule, Cost: cost}
}

// Random histories: whatever is remembered is what the store would say, and a
// good part of all refusals is.
func TestHistoriesAgreeWithTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known, refused := 0, 0
		for seed := range uint64(400) {
			r := rand.New(rand.NewPCG(seed, 7))
			f := newFront(t, Settings{Size: 1 << r.IntN(8), Age: time.Duration(1+r.IntN(3000)) * time.Millisecond})
			f.there, f.back = time.Duration(r.IntN(3))*time.Millisecond, time.Duration(r.IntN(3))*time.Millisecond
			random := func() core.Ask {
				k := r.IntN(3)
				n := []int64{3, 4, 20}[k] + int64(r.IntN(2))
				return asking(t, strategies[(int(seed)+k)%len(strategies)], "p"+strconv.Itoa(k), strconv.Itoa(r.IntN(2)), n, time.Second<<k, int64(1+r.IntN(3)))
			}
			type charge struct {
				ask core.Ask
				rc  core.Receipt
			}
			var charges []charge
			var asks []core.Ask
			for range 200 {
				if len(asks) > 0 && r.IntN(3) > 0 { // most come again
					asks[0].Soft, asks[0].When = false, core.OnAdmit
				} else {
					asks = []core.Ask{random()}
				}
				for r.IntN(3) == 0 && len(asks) < 3 {
					a, same := random(), false
					for _, b := range asks {
						same = same || b.Cell.Space.ID() == a.Cell.Space.ID() && b.Cell.Key == a.Cell.Key
					}
					if !same {
						asks = append(asks, a)
					}
				}
				switch r.IntN(12) {
				case 0:
					asks[0].When = core.When(r.IntN(4))
				case 1:
					asks[0].Soft = true
				case 2:
					if err := f.store.Reset(context.Background(), asks[0].Cell); err != nil {
						t.Fatal(err)
					}
					f.cache.Forget(asks[0].Cell)
				case 3:
					if len(charges) > 0 {
						c := charges[len(charges)-1]
						charges = charges[:len(charges)-1]
						delta := -c.ask.Cost
						if r.IntN(3) == 0 {
							delta = 2
						}
						if err := f.store.Settle(context.Background(), f.now(), []core.Ask{c.ask}, []core.Receipt{c.rc}, []int64{delta}); err != nil {
							t.Fatal(err)
						}
						f.cache.Forget(c.ask.Cell)
					}
				case 4, 5:
					time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
				}
				if f.known(asks...) {
					known++
					refused++
					if asks[0].Soft || asks[0].When == core.Always || asks[0].When == core.OnRefuse {
						t.Fatal("a decision was refused that has to be made")
					}
					continue
				}
				hard := false
				for i, v := range f.ask(asks...) {
					hard = hard || !v.OK && !asks[i].Soft
					if v.Charged && v.Receipt != (core.Receipt{}) {
						charges = append(charges, charge{asks[i], v.Receipt})
					}
				}
				if hard {
					refused++
				}
			}
		}
		if known < refused/5 || known < 1000 {
			t.Errorf("only %d of %d refusals were remembered", known, refused)
		}
		t.Logf("%d of %d refusals were remembered", known, refused)
	})
}

// A refusal is remembered to the last microsecond of its promise and no longer;
// the wait is counted down.
func TestPromise(t *testing.T) {
	for _, s := range strategies {
		synctest.Test(t, func(t *testing.T) {
			f := newFront(t, Settings{Age: time.Hour})
			a := asking(t, s, "p", "k", 2, time.Minute, 1)
			f.ask(a)
			f.ask(a)
			if f.known(a) {
				t.Fatal("nothing was refused yet")
			}
			v := f.ask(a)[0]
			if v.OK || !f.known(a) {
				t.Fatalf("%s: %+v is not remembered", s.Name(), v)
			}
			time.Sleep(time.Duration(v.RetryAfter-1) * time.Microsecond)
			if _, o := f.cache.Refuse([]core.Ask{a}); !f.known(a) || o.RetryAfter != 1 {
				t.Errorf("%s: a microsecond before its end the promise is %d", s.Name(), o.RetryAfter)
			}
			time.Sleep(time.Microsecond)
			if f.known(a) {
				t.Errorf("%s: remembered past its end", s.Name())
			}
			if v := f.ask(a)[0]; !v.OK {
				t.Errorf("%s: the promise was not kept: %+v", s.Name(), v)
			}
		})
	}
}

// The promise counts from before the call was sent; what is told is what holds
// on return.
func TestWayThereAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFront(t, Settings{Age: time.Hour})
		f.there, f.back = 5*time.Millisecond, 3*time.Millisecond
		a := asking(t, core.GCRA{}, "p", "k", 1, time.Second, 1)
		f.ask(a)
		sent := time.Now()
		v := f.ask(a)[0]
		_, o := f.cache.Refuse([]core.Ask{a})
		if o.RetryAfter != v.RetryAfter {
			t.Errorf("on return the store's promise is %d, ours %d", v.RetryAfter, o.RetryAfter)
		}
		time.Sleep(time.Until(sent.Add(time.Duration(v.RetryAfter)*time.Microsecond)) - time.Microsecond)
		if !f.known(a) {
			t.Error("forgotten early")
		}
		time.Sleep(time.Microsecond)
		if f.known(a) {
			t.Error("remembered for longer than the store's own promise")
		}
	})
}

// What is not held back by what is remembered.
func TestOthersAreNotHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, other := range map[string]func(core.Ask) core.Ask{
			"cheaper":       func(a core.Ask) core.Ask { a.Cost--; return a },
			"dearer":        func(a core.Ask) core.Ask { a.Cost++; return a },
			"limit raised":  func(a core.Ask) core.Ask { return asking(t, core.FixedWindow{}, "p", "k", 20, time.Hour, 3) },
			"another key":   func(a core.Ask) core.Ask { a.Cell.Key = core.NewKey("k", "other"); return a },
			"a soft ask":    func(a core.Ask) core.Ask { a.Soft = true; return a },
			"CountDenied":   func(a core.Ask) core.Ask { a.When = core.Always; return a },
			"a strike":      func(a core.Ask) core.Ask { a.When = core.OnRefuse; return a },
			"another space": func(a core.Ask) core.Ask { return asking(t, core.FixedWindow{}, "q", "k", 10, time.Hour, 3) },
			"another store name": func(a core.Ask) core.Ask {
				naming, err := core.NewNaming(core.Naming{Prefix: "other:"})
				if err != nil {
					t.Fatal(err)
				}
				a.Cell.Space = core.NewSpace("p", time.Hour.Microseconds(), a.Rule.Shape(), naming, nil)
				return a
			},
		} {
			f := newFront(t, Settings{})
			a := asking(t, core.FixedWindow{}, "p", "k", 10, time.Hour, 3)
			for range 4 {
				f.ask(a)
			}
			if !f.known(a) {
				t.Fatal("the refusal is not remembered")
			}
			if which, _ := f.cache.Refuse([]core.Ask{other(a)}); which >= 0 {
				t.Errorf("%s: refused by what was remembered of another", name)
			}
			look := a
			look.When = core.Never
			if !f.known(look) {
				t.Error("a look is not answered")
			}
		}
	})
}

// What must not be remembered.
func TestNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, change := range map[string]func(*core.Ask){
			"a look":      func(a *core.Ask) { a.When = core.Never },
			"CountDenied": func(a *core.Ask) { a.When = core.Always },
			"a strike":    func(a *core.Ask) { a.When = core.OnRefuse },
			"a soft ask":  func(a *core.Ask) { a.Soft = true },
		} {
			for _, beside := range []bool{false, true} {
				f := newFront(t, Settings{})
				a := asking(t, core.GCRA{}, "p", "k", 1, time.Hour, 1)
				f.store.Take(context.Background(), f.now(), []core.Ask{a}, make([]core.Verdict, 1))
				asks := []core.Ask{a}
				if beside {
					asks = append(asks, asking(t, core.GCRA{}, "q", "k", 10, time.Hour, 1))
				}
				change(&asks[len(asks)-1])
				f.ask(asks...)
				for i := range asks {
					asks[i].When, asks[i].Soft = core.OnAdmit, false
				}
				if f.known(asks...) || f.known(a) {
					t.Errorf("%s was remembered (beside another: %v)", name, beside)
				}
			}
		}
	})
}

// Where several asks refuse, the one with the longest wait speaks.
func TestTheLongestWaitSpeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short := asking(t, core.FixedWindow{Align: core.FirstHit}, "p", "k", 1, time.Minute, 1)
		long := asking(t, core.FixedWindow{Align: core.FirstHit}, "q", "k", 1, time.Hour, 1)
		for _, asks := range [][]core.Ask{{short, long}, {long, short}} {
			f := newFront(t, Settings{})
			f.ask(asks...)
			f.ask(asks...)
			if _, o := f.cache.Refuse(asks); !f.known(asks...) || o.RetryAfter != time.Hour.Microseconds() {
				t.Errorf("told to wait %d", o.RetryAfter)
			}
		}
	})
}

// A quota of nothing is refused without anything being remembered.
func TestQuotaOfNothing(t *testing.T) {
	for _, s := range strategies {
		f := newFront(t, Settings{})
		a := asking(t, s, "p", "k", 0, time.Minute, 1)
		b := asking(t, s, "q", "k", 5, time.Minute, 1)
		if !f.known(a) || !f.known(b, a) {
			t.Errorf("%s: limit 0 is not refused", s.Name())
		}
	}
}

// A cost above the capacity is refused for ever, with figures that are so.
func TestCostAboveCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, s := range strategies {
			f := newFront(t, Settings{})
			big, small := asking(t, s, "p", "k", 2, time.Minute, 30), asking(t, s, "p", "k", 2, time.Minute, 1)
			f.ask(big)
			if _, o := f.cache.Refuse([]core.Ask{big}); !f.known(big) || o.RetryAfter != core.Forever {
				t.Errorf("%s: %+v", s.Name(), o)
			}
			f.ask(small)
			f.known(big) // where it is still known, its figures are the new ones
			time.Sleep(DefaultAge)
			if f.known(big) {
				t.Errorf("%s: remembered for longer than Settings.Age", s.Name())
			}
		}
	})
}

// A reset or refund that comes while a call is under way is not undone by what
// that call brings back.
func TestForgetWhileAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFront(t, Settings{})
		f.there, f.back = time.Millisecond, 10*time.Millisecond
		a := asking(t, core.GCRA{}, "p", "k", 1, time.Hour, 1)
		f.ask(a)
		var wg sync.WaitGroup
		wg.Go(func() { f.ask(a) })
		time.Sleep(5 * time.Millisecond) // it was refused, and is on its way back
		if err := f.store.Reset(context.Background(), a.Cell); err != nil {
			t.Fatal(err)
		}
		f.cache.Forget(a.Cell)
		wg.Wait()
		if f.known(a) {
			t.Error("remembered what was true before the reset")
		}
	})
}

// A flood of refused keys takes the memory of the table, once.
func TestFlood(t *testing.T) {
	f := newFront(t, Settings{})
	a := asking(t, core.FixedWindow{}, "p", "k", 1, time.Hour, 1)
	v := []core.Verdict{{Judgement: core.Judgement{RetryAfter: 3600e6, NextAfter: 3600e6, ResetAfter: 3600e6}}}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	asks := []core.Ask{a}
	for i := range 300_000 {
		asks[0].Cell.Key = core.NewKey("k", strconv.Itoa(i))
		f.cache.Learn(f.cache.Now(), 1, asks, v)
	}
	if grown := int64(heap()) - int64(before); grown > 3<<19 {
		t.Errorf("300,000 refused keys took %d bytes", grown)
	}
	if which, _ := f.cache.Refuse(asks); which != 0 {
		t.Error("the latest refusal is not remembered")
	}
	runtime.KeepAlive(f)
}

// Looking while others write gives what somebody wrote, whole.
func TestTogether(t *testing.T) {
	c := New(Settings{Size: 2, Age: time.Hour})
	rule, err := core.GCRA{}.Bind(core.Rate{Limit: 5, Window: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	space := core.NewSpace("p", time.Hour.Microseconds(), rule.Shape(), nil, nil)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range int64(200_000) {
				n := 1 + (i+int64(g))%7
				a := core.Ask{Cell: core.Cell{Space: space, Key: core.NewKey("k", fmt.Sprint(n))}, Rule: rule, Cost: 1}
				switch i % 3 {
				case 0:
					wait := n * 1e9
					c.Learn(c.Now(), 1, []core.Ask{a}, []core.Verdict{{Judgement: core.Judgement{RetryAfter: wait, NextAfter: wait, ResetAfter: wait, Remaining: n}}})
				case 1:
					if which, o := c.Refuse([]core.Ask{a}); which == 0 && (o.Remaining != n || o.RetryAfter != o.NextAfter || o.RetryAfter > n*1e9 || o.RetryAfter < n*1e9-60e6) {
						t.Errorf("of key %d is remembered %+v", n, o)
						return
					}
				default:
					if i%30 == 2 {
						c.Forget(a.Cell)
					}
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkRefuseOne(b *testing.B) {
	c := New(Settings{Age: time.Hour})
	a := asking(b, core.SlidingWindow{}, "p", "k", 100, time.Hour, 1)
	v := []core.Verdict{{Judgement: core.Judgement{RetryAfter: 3600e6, NextAfter: 3600e6, ResetAfter: 3600e6}}}
	c.Learn(c.Now(), 1, []core.Ask{a}, v)
	b.ReportAllocs()
	for b.Loop() {
		if _, refused := c.RefuseOne(a.Cell.Space, a.Rule, a.Cell.Key.Print(c.Seeds()), 1); !refused {
			b.Fatal("not known")
		}
	}
}
