package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// A counted Backend counts its calls.
type counted struct {
	core.Backend
	mu            sync.Mutex
	takes, refund int
	broken        error
}

func (c *counted) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.takes++; c.broken != nil {
		return 0, c.broken
	}
	return c.Backend.Take(ctx, at, asks, out)
}

func (c *counted) Settle(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refund++; c.broken != nil {
		return c.broken
	}
	return c.Backend.Settle(ctx, at, asks, rs, delta)
}

// waiter makes a Waiter over memory, and the limiter of its policy.
func waiter(t *testing.T, rate string, burst int64) (*core.Waiter, *core.Limiter, *counted) {
	t.Helper()
	b := &counted{Backend: memory.New()}
	l := configured(t, core.Config{Backend: b, Policies: []core.Policy{
		{Name: "jobs", Rate: rate, Strategy: core.GCRA{Burst: burst}},
	}})
	w, err := l.Waiter("jobs")
	if err != nil {
		t.Fatal(err)
	}
	return w, l, b
}

var job = core.NewKey("queue", "mail")

// A hundred who come at once at ten a second: each is let go at its own tenth of
// a second, and each costs the backend one call.
func TestWaitersGoOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, b := waiter(t, "10/s", 1)
		began := time.Now()
		let := make(chan time.Duration, 100)
		for range 100 {
			go func() {
				if err := w.Wait(t.Context(), job, 1); err != nil {
					t.Error(err)
				}
				let <- time.Since(began)
			}()
		}
		for i := range 100 {
			if at, want := <-let, time.Duration(i)*100*time.Millisecond; at != want {
				t.Errorf("number %d was let go after %v, not %v", i+1, at, want)
			}
		}
		if b.takes != 100 || b.refund != 0 {
			t.Errorf("%d decisions and %d refunds for 100 waiters", b.takes, b.refund)
		}
	})
}

// Those who wait and those who ask share one rate, burst and cost included.
func TestWaitAndAllowShareTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l, _ := waiter(t, "10/s", 3)
		wait := func(cost int64, want time.Duration) {
			t.Helper()
			began := time.Now()
			if err := w.Wait(t.Context(), job, cost); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(began); got != want {
				t.Errorf("cost %d: waited %v, not %v", cost, got, want)
			}
		}
		allowed := func(want bool) {
			t.Helper()
			d, err := l.Allow(t.Context(), "jobs", job, 1)
			if err != nil || d.Allowed != want {
				t.Errorf("allowed %v, %v", d.Allowed, err)
			}
		}
		wait(2, 0) // of the burst
		allowed(true)
		allowed(false)
		wait(1, 100*time.Millisecond)
		wait(3, 300*time.Millisecond)
		allowed(false)
		time.Sleep(100 * time.Millisecond)
		allowed(true)
		wait(0, 0) // a look
	})
}

// A deadline before the turn ends the wait before it begins, and the turn is
// free again.
func TestWaitRefusesAtOnceWhatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, b := waiter(t, "1/m", 1)
		if err := w.Wait(t.Context(), job, 1); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 59*time.Second)
			if err := w.Wait(ctx, job, 1); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			cancel()
		}
		if gone := time.Since(began); gone != 0 {
			t.Errorf("it took %v to say so", gone)
		}
		if b.refund != 5 {
			t.Errorf("%d turns were given back", b.refund)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := w.Wait(ctx, job, 1); err != nil || time.Since(began) != time.Minute {
			t.Errorf("the turn after one minute came after %v: %v", time.Since(began), err)
		}
	})
}

// Of three who wait, the last may leave and the next comer takes its turn. Once
// somebody stands behind, a turn that is left stays empty: two would be let go
// together otherwise.
func TestWaitGivesBackOnlyTheLastTurn(t *testing.T) {
	for _, test := range []struct {
		leaves, comes int // the one of 1, 2, 3 that leaves; the second at which the next comer goes
	}{{1, 4}, {2, 4}, {3, 3}} {
		t.Run(fmt.Sprint(test.leaves), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, _ := waiter(t, "1/s", 1)
				began := time.Now()
				let := make(chan int, 5)
				var leave context.CancelFunc
				for i := range 4 { // the first goes at once
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if i == test.leaves {
						leave = cancel
					}
					go func() {
						if w.Wait(ctx, job, 1) == nil {
							let <- int(time.Since(began) / time.Second)
						}
					}()
					synctest.Wait()
				}
				time.Sleep(time.Second / 2)
				leave()
				synctest.Wait()
				if err := w.Wait(t.Context(), job, 1); err != nil {
					t.Fatal(err)
				}
				if at := time.Since(began); at != time.Duration(test.comes)*time.Second {
					t.Errorf("the next comer went after %v", at)
				}
				synctest.Wait()
				close(let)
				seen := map[int]bool{}
				for at := range let {
					if seen[at] || at == test.comes {
						t.Errorf("two went in second %d", at)
					}
					seen[at] = true
				}
				if len(seen) != 3 {
					t.Errorf("%d of the four went", len(seen))
				}
			})
		})
	}
}

// Where the backend breaks, nobody's turn has come.
func TestWaitSaysWhatBroke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, b := waiter(t, "1/s", 1)
		b.broken = core.ErrUnavailable
		if err := w.Wait(t.Context(), job, 1); !errors.Is(err, core.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		for _, cost := range []int64{-1, 2} {
			if err := w.Wait(t.Context(), job, cost); err == nil {
				t.Errorf("cost %d is taken", cost)
			}
		}
		b.broken = nil
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Wait(ctx, job, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// Only cells that can be charged ahead have a Waiter.
func TestWaiterNeedsGCRA(t *testing.T) {
	l := configured(t, core.Config{Policies: []core.Policy{
		{Name: "sliding", Rate: "1/s"},
		{Name: "several", Rate: "1/s; 10/m", Strategy: core.GCRA{}},
		{Name: "nothing", Rate: "0/s", Strategy: core.GCRA{}},
		{Name: "none", Rate: "none", Strategy: core.GCRA{}},
		{Name: "dynamic", Strategy: core.GCRA{}, RateFunc: func(string, core.Request) (core.Rates, error) { return nil, nil }},
		{Name: "banning", Rate: "1/s", Strategy: core.GCRA{}, Ban: &core.Ban{After: 1, Within: time.Hour, For: time.Hour}},
		{Name: "shadow", Rate: "1/s", Strategy: core.GCRA{}, Mode: core.Shadow},
		{Name: "annotate", Rate: "1/s", Strategy: core.GCRA{}, Mode: core.Annotate},
	}})
	for _, policy := range []string{"sliding", "several", "nothing", "none", "dynamic", "banning", "shadow", "annotate"} {
		if _, err := l.Waiter(policy); !errors.Is(err, core.ErrUnsupported) || !strings.Contains(err.Error(), "core.GCRA{}") {
			t.Errorf("%s: %v", policy, err)
		}
	}
	if _, err := l.Waiter("unknown"); err == nil || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("%v", err)
	}
}

// The queue holds at the extremes of what GCRA takes as a rate.
func TestWaiterAtTheExtremes(t *testing.T) {
	for _, rate := range []string{"2147483648/ms", "1/366d", "2147483648/366d", "1/ms", "7/3s"} {
		synctest.Test(t, func(t *testing.T) {
			w, _, _ := waiter(t, rate, 1)
			for range 3 {
				if err := w.Wait(t.Context(), job, 1); err != nil {
					t.Fatalf("%s: %v", rate, err)
				}
			}
		})
	}
}
