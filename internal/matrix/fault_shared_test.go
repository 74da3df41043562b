package matrix

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

// eachBackend runs f for all strategies on all backends.
func eachBackend(t *testing.T, f func(t *testing.T, open func(testing.TB) core.Backend, w way)) {
	for name, open := range backends {
		for _, w := range ways {
			t.Run(name+" "+w.name, func(t *testing.T) { f(t, open, w) })
		}
	}
}

// sharing is a Limiter of policies on a backend that others use as well, with an
// instant that stands still.
func sharing(t *testing.T, b core.Backend, policies ...core.Policy) *core.Limiter {
	t.Helper()
	l, err := core.New(core.Config{Backend: b, Policies: policies, Now: func() time.Time { return time.UnixMicro(start) }})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestFault_G6: while clients keep calling, the limit is lowered and raised again
// by instances that are replaced. What was consumed stays consumed, so that no
// window has more than the largest limit.
func TestFault_G6(t *testing.T) {
	eachBackend(t, func(t *testing.T, open func(testing.TB) core.Backend, w way) {
		b, key := open(t), core.NewKey("k", "a")
		instanceOf := func(n int) *core.Limiter {
			return sharing(t, b, core.Policy{Name: "p", Rate: fmt.Sprint(n, "/m"), Strategy: w.strategy})
		}
		defer func() {
			if err := instanceOf(1).Reset(context.Background(), "p", key); err != nil {
				t.Error(err)
			}
		}()
		before, low, after := instanceOf(100), instanceOf(10), instanceOf(100)
		var calls, admitted atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 50 {
					l := before
					if n := calls.Add(1); n > 120 {
						l = after
					} else if n > 60 {
						l = low
					}
					d, err := l.Allow(context.Background(), "p", key, 1)
					if err != nil {
						t.Error(err)
					} else if d.Allowed {
						admitted.Add(1)
					}
				}
			})
		}
		wg.Wait()
		least, most := int64(100), int64(100)
		if g, ok := w.strategy.(core.GCRA); ok { // it keeps time, not units: a unit of the lower limit weighs ten
			least = 60
			if g.Burst == 1 {
				least, most = 1, 1
			}
		}
		if n := admitted.Load(); n < least || n > most {
			t.Errorf("%d admitted at one instant, want %d to %d", n, least, most)
		}
		if d, err := instanceOf(10).Allow(context.Background(), "p", key, 1); err != nil || d.Allowed || d.Remaining != 0 {
			t.Errorf("under the lower limit: allowed %v, %d remain, %v", d.Allowed, d.Remaining, err)
		}
	})
}

// TestFault_G7: two Limiters on one backend, and two policies of one, count the
// same client apart; the same policy in two Limiters is one.
func TestFault_G7(t *testing.T) {
	eachBackend(t, func(t *testing.T, open func(testing.TB) core.Backend, w way) {
		b, key := open(t), core.NewKey("k", "a")
		policy := func(name string) core.Policy {
			return core.Policy{Name: name, Rate: "1/m", Strategy: w.strategy}
		}
		one, other, again := sharing(t, b, policy("a"), policy("b")), sharing(t, b, policy("c")), sharing(t, b, policy("a"))
		defer func() {
			for l, names := range map[*core.Limiter][]string{one: {"a", "b"}, other: {"c"}} {
				for _, name := range names {
					if err := l.Reset(context.Background(), name, key); err != nil {
						t.Error(err)
					}
				}
			}
		}()
		for _, step := range []struct {
			l      *core.Limiter
			policy string
			want   bool
		}{{one, "a", true}, {one, "b", true}, {other, "c", true}, {again, "a", false}, {one, "a", false}, {one, "b", false}, {other, "c", false}} {
			if d, err := step.l.Allow(context.Background(), step.policy, key, 1); err != nil || d.Allowed != step.want {
				t.Errorf("policy %s: allowed %v, want %v, %v", step.policy, d.Allowed, step.want, err)
			}
		}
	})
}
