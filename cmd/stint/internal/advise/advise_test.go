package advise

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

// people is traffic of n keys in two days: each comes now and then and asks for 1 to
// 20 units within a minute.
func people(n int) *Traffic {
	r := rand.New(rand.NewPCG(1, 2))
	t := new(Traffic)
	for i := range n {
		k := &Key{Name: fmt.Sprint("k", i), phase: r.Uint64()}
		for range 10 {
			at := r.Int64N(48 * 3600e6)
			for range 1 + r.Int64N(20) {
				k.Uses = append(k.Uses, Use{at + r.Int64N(60e6), 1})
			}
		}
		t.Keys = append(t.Keys, k)
	}
	return t
}

// crawler is a key that asks every so often, all the time.
func crawler(name string, every time.Duration) *Key {
	k := &Key{Name: name}
	for at := int64(0); at < 48*3600e6; at += every.Microseconds() {
		k.Uses = append(k.Uses, Use{at, 1})
	}
	return k
}

func TestPeaks(t *testing.T) {
	k := &Key{Uses: []Use{{0, 1}, {10, 2}, {19, 1}, {20, 1}, {100, 3}}}
	for window, want := range map[int64]int64{1: 3, 10: 3, 11: 4, 20: 4, 21: 5, 81: 5, 101: 8} {
		if got := k.Peak(window); got != want {
			t.Errorf("in any %d µs: %d, want %d", window, got, want)
		}
	}
}

func TestOutliers(t *testing.T) {
	for want, units := range map[int][]int64{
		0: slices.Repeat([]int64{20}, 300),
		1: append([]int64{30}, slices.Repeat([]int64{20}, 300)...),
		2: append([]int64{400, 300}, slices.Repeat([]int64{20}, 300)...),
		3: append([]int64{400, 100, 90}, slices.Repeat([]int64{20}, 300)...), // the widest gap is below the third
	} {
		var keys []Peak
		for _, n := range units {
			keys = append(keys, Peak{Units: n})
		}
		if got := outliers(keys); got != want {
			t.Errorf("%d stand out of %v ..., want %d", got, units[:4], want)
		}
	}
	for _, units := range [][]int64{{}, {5}, {9, 1}, {14, 10}} {
		var keys []Peak
		for _, n := range units {
			keys = append(keys, Peak{Units: n})
		}
		if got := outliers(keys); got != 0 {
			t.Errorf("%d stand out of %v, want nobody", got, units)
		}
	}
}

func TestTheLimitSparesTheHonest(t *testing.T) {
	traffic := people(500)
	traffic.Keys = append(traffic.Keys, crawler("crawler", time.Second/2))
	traffic.Sort()
	if traffic.Keys[0].Name != "crawler" {
		t.Fatalf("%s asked most", traffic.Keys[0].Name)
	}
	windows := []time.Duration{time.Second, time.Minute, time.Hour}
	a, err := traffic.Give(windows, core.SlidingWindow{}, 0.001, []Named{{"moving", core.MovingWindow{}}, {"wrong", core.BucketedWindow{Precision: 7 * time.Second}}})
	if err != nil {
		t.Fatal(err)
	}
	best := a.Best
	if best.Length != time.Minute || len(best.Outliers) != 1 || best.Outliers[0].Key.Name != "crawler" || best.Outliers[0].Units != 120 {
		t.Errorf("proposed is %+v", best)
	}
	if best.Honest.Share() > 0.001 || best.Limit > 40 || best.Honest.Keys != 500 || best.Outlying.Share() < 0.5 {
		t.Errorf("%d a minute refuses %+v of the honest and %+v of the crawler", best.Limit, best.Honest, best.Outlying)
	}
	// A smaller round number would refuse too many, of all or of one half.
	if best.Limit != max(best.Halves[0], best.Halves[1]) {
		tighter, err := effect(core.SlidingWindow{}, best.Limit*3/4, best.Length, best.honest())
		if err != nil || tighter.Share() <= 0.001 {
			t.Errorf("three quarters of the limit would do: %+v %v", tighter, err)
		}
	}
	if s := a.Strategies; s[0].Err != nil || s[0].Honest.Requests != best.Honest.Requests || s[1].Err == nil {
		t.Errorf("strategies: %+v", s)
	}
	traffic.Drop([]string{"crawler"})
	if a, err = traffic.Give(windows, core.SlidingWindow{}, 0, nil); err != nil || a.Best.Length != time.Minute || len(a.Best.Outliers) != 0 || a.Best.Honest.Refused != 0 {
		t.Errorf("without the crawler: %+v %v; want a minute, and nobody refused", a.Best, err)
	}
}

func TestRoundNumbers(t *testing.T) {
	for n, want := range map[int64]int64{1: 1, 7: 7, 10: 10, 11: 12, 13: 15, 49: 50, 61: 80, 81: 100, 101: 120, 1234: 1500} {
		if got := round(n); got != want {
			t.Errorf("%d becomes %d, want %d", n, got, want)
		}
	}
}

func TestHalvesLoseNothing(t *testing.T) {
	traffic := people(50)
	traffic.Sort()
	count := func(t *Traffic) (n int) {
		for _, k := range t.Keys {
			n += len(k.Uses)
		}
		return n
	}
	from, to := traffic.span()
	for _, at := range []int64{from, from + 1, (from + to) / 2, to, to + 1} {
		before, after := traffic.split(at)
		for _, k := range before.Keys {
			if k.Uses[len(k.Uses)-1].At >= at {
				t.Errorf("%d is before %d", k.Uses[len(k.Uses)-1].At, at)
			}
		}
		if count(before)+count(after) != count(traffic) || len(after.Keys) > 0 && after.Keys[0].Uses[0].At < at {
			t.Errorf("at %d: %d and %d of %d", at, count(before), count(after), count(traffic))
		}
	}
}

// Windows that are aligned to the clock begin where they do in the trace.
func TestEffectsAreAligned(t *testing.T) {
	k := &Key{Uses: []Use{{59_999_999, 1}, {60_000_000, 1}, {119_999_999, 1}, {120_000_000, 1}}}
	e, err := effect(core.FixedWindow{Align: core.Clock}, 1, time.Minute, []Peak{{Key: k}})
	if want := (Effect{4, 1, 1, 1}); err != nil || e != want {
		t.Errorf("%+v %v, want %+v", e, err, want)
	}
}
