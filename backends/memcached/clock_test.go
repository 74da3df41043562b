package memcachedlimit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/faultproxy"
)

func TestClock(t *testing.T) {
	var c clock
	const s = int64(1e6)
	for i, step := range []struct{ wall, want int64 }{
		{100 * s, 100 * s},
		{100*s + 1, 100*s + 1},
		{100 * s, 100*s + 1}, // a little back: it waits
		{99*s + 1, 100*s + 1},
		{102 * s, 102 * s},
		{100 * s, 100 * s}, // a lot: it follows
		{100*s + 5, 100*s + 5},
		{4000 * s, 4000 * s},
		{101 * s, 101 * s},
	} {
		if got := c.read(step.wall); got != step.want {
			t.Errorf("step %d: at %d the clock says %d, want %d", i, step.wall, got, step.want)
		}
	}
}

// Two processes share limits, and their clocks are four seconds apart. In no
// interval of length L is more admitted than the strategy's bound for L and those
// four seconds; the explicit instants are what each process takes for now.
func TestAttack_D3(t *testing.T) {
	b := on(t, shared.single())
	const (
		window = 60 * int64(time.Second/time.Microsecond)
		skew   = 4 * int64(time.Second/time.Microsecond)
		n      = 10
		begin  = 1_700_000_000_000_000
	)
	up := func(a, b int64) int64 { return (a + b - 1) / b }
	for _, c := range []struct {
		strategy core.Strategy
		bound    func(length int64) int64
	}{
		{core.FixedWindow{}, func(l int64) int64 { return n * (up(l, window) + 1) }},
		{core.SlidingWindow{}, func(l int64) int64 { return n * (up(l, window) + 1) }},
		{core.BucketedWindow{}, func(l int64) int64 { return n * up(up(l, window/10)+1, 11) }},
		{core.FixedWindow{Align: core.FirstHit}, func(l int64) int64 { return n*(up(l, window)+1) - 1 }},
		{core.MovingWindow{}, func(l int64) int64 { return n * up(l, window) }},
		{core.GCRA{}, func(l int64) int64 { return n + up(l, window/n) - 1 }},
	} {
		t.Run(fmt.Sprintf("%T%+v", c.strategy, c.strategy), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 3))
			a := asking(t, c.strategy, n, time.Duration(window)*time.Microsecond)
			var admitted []int64 // at what true instants
			for at := int64(begin); at < begin+6*window; at += rng.Int64N(window / 50) {
				seen := at + skew/2
				if rng.IntN(2) == 0 {
					seen = at - skew/2
				}
				v, err := take(b, seen, a)
				if err != nil {
					t.Fatal(err)
				}
				if v.OK {
					admitted = append(admitted, at)
				}
			}
			if len(admitted) < 4*n {
				t.Errorf("only %d were admitted", len(admitted))
			}
			for _, length := range []int64{window / 10, window - window/10, window, 2 * window, 5 * window} {
				most, first := int64(0), 0
				for i, at := range admitted {
					for admitted[first] <= at-length {
						first++
					}
					most = max(most, int64(i-first+1))
				}
				if bound := c.bound(length + skew); most > bound {
					t.Errorf("%d in %v, the bound is %d", most, time.Duration(length)*time.Microsecond, bound)
				}
			}
		})
	}
}

// A process whose clock is behind does not get again what one whose clock is
// ahead has taken from a sub-window yet to come.
func TestClocksAhead(t *testing.T) {
	b := on(t, shared.single())
	const n, at = 10, int64(1_700_000_000_000_000)
	for _, strategy := range []core.Strategy{core.BucketedWindow{}, core.BucketedWindow{Inclusive: true}, core.SlidingWindow{}} {
		a := asking(t, strategy, n, time.Minute)
		a.Cell.Space = core.NewSpace("ahead", time.Minute.Microseconds(), a.Rule.Shape(), nil, func(core.Cell) int64 { return at })
		all := a
		all.Cost = n
		if v, err := take(b, at, all); err != nil || !v.OK { // the first instant of a sub-window
			t.Fatal(v, err)
		}
		for _, behind := range []int64{1, 1e6, 4e6} {
			if v, err := take(b, at-behind, a); err != nil || v.OK {
				t.Errorf("%+v: %d µs behind: %+v %v", strategy, behind, v, err)
			}
		}
	}
}

// A charge that was made when its sub-window had ended is made again: others
// count on an ended one not to grow.
func TestLateChargesAreMadeAgain(t *testing.T) {
	p := faultproxy.New(t, shared.single().Addr())
	for _, c := range []struct {
		late int32 // charges
		err  error
	}{{1, nil}, {3, nil}, {100, ErrContention}} {
		var left atomic.Int32
		left.Store(c.late)
		a := asking(t, core.BucketedWindow{Precision: 100 * time.Millisecond}, 10, 12*time.Second)
		asks := []core.Ask{a, asking(t, core.FixedWindow{}, 10, time.Hour)}
		for _, asks := range [][]core.Ask{asks[:1], {asks[1], asks[0]}} {
			b := dialling(t, patient, p.Addr())
			// The store takes until the next sub-window, as this clock sees it.
			p.Set(faultproxy.Mode{Corrupt: func(reply []byte) []byte {
				if slices.Contains([]string{"STORED\r\n", "1\r\n"}, string(reply)) && left.Add(-1) >= 0 {
					b.clock.last.Add(100_000)
				}
				return reply
			}})
			out := make([]core.Verdict, len(asks))
			_, err := b.Take(t.Context(), 0, asks, out)
			p.Set(faultproxy.Mode{})
			if !errors.Is(err, c.err) || c.err == nil && !out[0].OK {
				t.Errorf("%d late: %+v %v", c.late, out, err)
			}
			want := int64(1)
			if c.err != nil {
				want = 0
			}
			for _, a := range asks {
				if used := units(t, b, 0, a); used != want {
					t.Errorf("%d late: %s has %d units", c.late, a.Rule.Shape(), used)
				}
				if err := b.Reset(t.Context(), a.Cell); err != nil {
					t.Fatal(err)
				}
			}
			left.Store(c.late)
		}
	}
}
