package matrix

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/core"
)

// A way to count, with the most units that it admits in any interval as long as
// its window (the proof of each is in its doc comment).
type way struct {
	name     string
	strategy core.Strategy
	bound    func(n int64) int64
}

func times(k, less int64) func(int64) int64 { return func(n int64) int64 { return k*n - less } }

var ways = []way{
	{"fixed, first hit", core.FixedWindow{Align: core.FirstHit}, times(2, 1)},
	{"fixed, staggered", core.FixedWindow{}, times(2, 0)},
	{"fixed, clock", core.FixedWindow{Align: core.Clock}, times(2, 0)},
	{"bucketed", core.BucketedWindow{Precision: time.Minute / 4}, times(1, 0)},
	{"bucketed, inclusive", core.BucketedWindow{Precision: time.Minute / 4, Inclusive: true}, times(2, 0)},
	{"sliding, staggered", core.SlidingWindow{}, times(2, 0)},
	{"sliding, clock", core.SlidingWindow{Align: core.Clock}, times(2, 0)},
	{"moving", core.MovingWindow{}, times(1, 0)},
	{"gcra, one at a time", core.GCRA{Burst: 1}, times(1, 0)},
	{"gcra, all at once", core.GCRA{}, times(2, 1)},
}

// counter is a Limiter of one policy "p" with a clock of its own.
type counter struct {
	tb    testing.TB
	l     *core.Limiter
	clock int64 // microseconds
}

const start int64 = 1_700_000_040 * 1e6 // a full minute

// newCounter makes one whose windows begin at full minutes.
func newCounter(tb testing.TB, w way, rate string) *counter {
	tb.Helper()
	return newPhased(tb, w, rate, func(core.Cell) int64 { return 0 })
}

func newPhased(tb testing.TB, w way, rate string, phase func(core.Cell) int64) *counter {
	tb.Helper()
	c := &counter{tb: tb, clock: start}
	l, err := core.New(core.Config{
		Backend:  backends["memory"](tb),
		Policies: []core.Policy{{Name: "p", Rate: rate, Strategy: w.strategy}},
		Now:      func() time.Time { return time.UnixMicro(c.clock) },
		Phase:    phase,
	})
	if err != nil {
		tb.Fatal(err)
	}
	c.l = l
	return c
}

func (c *counter) at(clock int64, key string, cost int64) core.Decision {
	c.tb.Helper()
	c.clock = clock
	d, err := c.l.Allow(context.Background(), "p", core.NewKey("k", key), cost)
	if err != nil {
		c.tb.Fatal(err)
	}
	return d
}

func eachWay(t *testing.T, f func(t *testing.T, w way)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { f(t, w) })
	}
}

const minute = int64(time.Minute / time.Microsecond)

// TestAttack_D1: however the clock jumps, nothing is admitted that would be
// refused at the latest instant which was ever charged.
func TestAttack_D1(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		r := rand.New(rand.NewPCG(1, 1))
		c, forward := newCounter(t, w, "5/m"), newCounter(t, w, "5/m")
		for round := range 50 {
			key, now, latest := fmt.Sprint(round), start, int64(0)
			for i := range 300 {
				now += []int64{0, 1, minute / 7, -minute / 3, minute, -60 * minute, 60 * minute, -1}[r.IntN(8)]
				if !c.at(now, key, 1).Allowed {
					continue
				}
				latest = max(latest, now)
				if !forward.at(latest, key, 1).Allowed {
					t.Fatalf("round %d, step %d: admitted at %d, refused at %d", round, i, now, latest)
				}
			}
		}
	})
}

// TestAttack_D2: an hour forward and back again opens one window at most, and
// keeps nobody out for longer than that hour and a window.
func TestAttack_D2(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		c := newCounter(t, w, "5/m")
		admitted := func(at int64) (n int) {
			for c.at(at, "a", 1).Allowed {
				n++
			}
			return n
		}
		first := admitted(start)
		if early := admitted(start + 60*minute); early > first {
			t.Errorf("%d admitted in the early window, %d before", early, first)
		}
		d := c.at(start+1, "a", 1)
		if d.Allowed || d.RetryAfter > time.Hour+2*time.Minute {
			t.Errorf("back again: allowed %v, retry after %v", d.Allowed, d.RetryAfter)
		}
		if again := c.at(start+1+d.RetryAfter.Microseconds(), "a", 1); !again.Allowed {
			t.Error("refused at the promised instant")
		}
	})
}

// TestAttack_D4: who knows where the windows end gets the stated bound, and no
// unit more.
func TestAttack_D4(t *testing.T) {
	const n = 4
	eachWay(t, func(t *testing.T, w way) {
		r := rand.New(rand.NewPCG(4, 4))
		c := newCounter(t, w, fmt.Sprint(n, "/m"))
		var most int64
		for round := range 4000 {
			most = max(most, densest(attackEdges(c, r, fmt.Sprint(round), n)))
		}
		if bound := w.bound(n); most != bound {
			t.Errorf("%d admitted within a window, bound %d", most, bound)
		}
	})
}

// attackEdges asks in bursts around a few instants that are a quarter of a
// window apart, and returns the stamps of what was admitted.
func attackEdges(c *counter, r *rand.Rand, key string, n int) (stamps []int64) {
	at := start
	for range 12 {
		at += []int64{0, 1, minute / 4, minute/4 - 1, minute / 4 * 3, minute/4*3 - 1, minute, minute - 1}[r.IntN(8)]
		for range 1 + r.IntN(n+1) {
			if c.at(at, key, 1).Allowed {
				stamps = append(stamps, at)
			}
		}
	}
	return stamps
}

// densest is the most stamps in any half-open interval of a minute.
func densest(stamps []int64) (most int64) {
	first := 0
	for i, s := range stamps {
		for s-stamps[first] >= minute {
			first++
		}
		most = max(most, int64(i-first+1))
	}
	return most
}

// TestAttack_D5: staggered windows of many keys do not end together.
func TestAttack_D5(t *testing.T) {
	const keys, parts = 10_000, 100
	for _, w := range []way{{"fixed", core.FixedWindow{}, nil}, {"sliding", core.SlidingWindow{}, nil}} {
		c := newPhased(t, w, "5/m", nil)
		var ends [parts]int
		for i := range keys {
			d := c.at(start, fmt.Sprint(i), 1)
			ends[d.ResetAfter.Microseconds()%minute*parts/minute]++
		}
		sigma := math.Sqrt(keys / parts * (1 - 1.0/parts))
		if low, high := slices.Min(ends[:]), slices.Max(ends[:]); float64(keys/parts-low) > 5*sigma || float64(high-keys/parts) > 5*sigma {
			t.Errorf("%s: %d to %d windows end in a hundredth, want about %d", w.name, low, high, keys/parts)
		}
	}
}

// TestAttack_D6: who waits as told is admitted, whatever happened before; the
// field rounds up and is never 0.
func TestAttack_D6(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		r := rand.New(rand.NewPCG(6, 6))
		c := newCounter(t, w, "7/m")
		refusals := 0
		for client := range 1000 {
			at, key := start, fmt.Sprint(client)
			for range 30 {
				at += r.Int64N(minute / 16)
				d := c.at(at, key, 1)
				if d.Allowed {
					continue
				}
				refusals++
				checkRetryField(t, d)
				if c.at(at+d.RetryAfter.Microseconds()-1, key, 1).Allowed {
					t.Fatalf("admitted a microsecond before %v", d.RetryAfter)
				}
				if at += d.RetryAfter.Microseconds(); !c.at(at, key, 1).Allowed {
					t.Fatalf("refused after %v", d.RetryAfter)
				}
			}
		}
		if refusals < 1000 {
			t.Errorf("%d refusals seen", refusals)
		}
	})
}

func checkRetryField(t *testing.T, d core.Decision) {
	t.Helper()
	for name, value := range d.Header() {
		if want := fmt.Sprint(max(1, int64(math.Ceil(d.RetryAfter.Seconds())))); name == "Retry-After" && value != want {
			t.Errorf("Retry-After %s for %v", value, d.RetryAfter)
		}
	}
}

// TestAttack_D7: no cost overflows, refills or slips through.
func TestAttack_D7(t *testing.T) {
	const n = 5
	eachWay(t, func(t *testing.T, w way) {
		for _, cost := range []int64{math.MinInt64, -1, 0, 1, n, n + 1, 1 << 31, 1 << 32, 1 << 53, math.MaxInt64} {
			c := newCounter(t, w, fmt.Sprint(n, "/m"))
			full := c.at(start, "a", 0)
			d, err := c.l.Allow(context.Background(), "p", core.NewKey("k", "a"), cost)
			left := c.at(start, "a", 0).Remaining
			switch {
			case cost < 0:
				if err == nil || d.Allowed || left != full.Remaining {
					t.Errorf("cost %d: %v, allowed %v, %d left", cost, err, d.Allowed, left)
				}
			case cost <= full.Limit:
				if err != nil || !d.Allowed || left != full.Remaining-cost {
					t.Errorf("cost %d: %v, allowed %v, %d left", cost, err, d.Allowed, left)
				}
			default:
				if err != nil || d.Allowed || d.RetryAfter != core.NoRetry || left != full.Remaining {
					t.Errorf("cost %d: %v, allowed %v, retry %v, %d left", cost, err, d.Allowed, d.RetryAfter, left)
				}
				checkNoRetry(t, d)
			}
		}
	})
}

func checkNoRetry(t *testing.T, d core.Decision) {
	t.Helper()
	for name := range d.Header() {
		if name == "Retry-After" {
			t.Error("Retry-After although no waiting helps")
		}
	}
}

// TestAttack_D8: limits and windows that do not divide each other, at the ends of
// what is allowed: full is full, and the promise holds to the microsecond.
func TestAttack_D8(t *testing.T) {
	for _, s := range []core.Strategy{core.FixedWindow{}, core.SlidingWindow{}, core.MovingWindow{}, core.GCRA{}, core.GCRA{Burst: 1}, core.BucketedWindow{}} {
		for _, n := range []int64{1, 3, 7, 9_999, 1_000_000, 1_000_000_000, 1 << 31} {
			for _, window := range []time.Duration{time.Millisecond, time.Second, 7 * time.Second, 24 * time.Hour, 366 * 24 * time.Hour} {
				if _, ok := s.(core.MovingWindow); ok && n > 10_000 {
					continue
				}
				if _, ok := s.(core.BucketedWindow); ok {
					s = core.BucketedWindow{Precision: window / 4}
				}
				c := &counter{tb: t, clock: start}
				c.l = rated(t, s, c, core.Rate{Limit: n, Window: window})
				fillAndWait(t, c, fmt.Sprintf("%s %d per %v", s.Name(), n, window))
			}
		}
	}
}

func rated(t *testing.T, s core.Strategy, c *counter, r core.Rate) *core.Limiter {
	t.Helper()
	l, err := core.New(core.Config{
		Backend:  backends["memory"](t),
		Policies: []core.Policy{{Name: "p", Rates: core.Rates{r}, Strategy: s}},
		Now:      func() time.Time { return time.UnixMicro(c.clock) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func fillAndWait(t *testing.T, c *counter, what string) {
	t.Helper()
	most := c.at(start, "a", 0).Limit
	if d := c.at(start, "a", most); !d.Allowed || d.Remaining != 0 {
		t.Errorf("%s: the whole quota of %d: allowed %v, %d left", what, most, d.Allowed, d.Remaining)
	}
	for _, cost := range []int64{1, most} {
		d := c.at(start, "a", cost)
		wait := d.RetryAfter.Microseconds()
		if d.Allowed || wait <= 0 {
			t.Errorf("%s: cost %d when full: allowed %v, retry %v", what, cost, d.Allowed, d.RetryAfter)
			continue
		}
		if look := peek(t, c, start+wait-1, cost); look.Allowed {
			t.Errorf("%s: cost %d is admitted a microsecond before %v", what, cost, d.RetryAfter)
		}
		if look := peek(t, c, start+wait, cost); !look.Allowed {
			t.Errorf("%s: cost %d is refused after %v", what, cost, d.RetryAfter)
		}
	}
}

func peek(t *testing.T, c *counter, at, cost int64) core.Decision {
	t.Helper()
	c.clock = at
	d, err := c.l.Peek(context.Background(), "p", core.NewKey("k", "a"), cost)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestAttack_D10: a limit lowered below what is used shows no negative numbers,
// and no huge ones.
func TestAttack_D10(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		rate := "100/m"
		l, err := core.New(core.Config{
			Backend: backends["memory"](t),
			Headers: core.HeadersDraft10 | core.HeadersLegacy,
			Policies: []core.Policy{{Name: "p", Strategy: w.strategy, RateFunc: func(string, core.Request) (core.Rates, error) {
				return core.ParseRates(rate)
			}}},
			Now: func() time.Time { return time.UnixMicro(start) },
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			rate     string
			requests int
		}{{"100/m", 60}, {"10/m", 5}, {"1/m", 5}, {"0/m", 5}, {"100/m", 1}, {"2147483648/m", 1}} {
			if rate = step.rate; rate == "2147483648/m" && w.strategy == (core.MovingWindow{}) {
				continue
			}
			for range step.requests {
				d, err := l.AllowRequest(httplimit.Request(httptest.NewRequest("GET", "/", nil)))
				if err != nil || d.Remaining < 0 || d.Remaining > d.Limit {
					t.Fatalf("%s: %d of %d left, %v", rate, d.Remaining, d.Limit, err)
				}
				h := map[string][]string{}
				d.WriteHeader(h)
				checkFields(t, h)
			}
		}
	})
}

// TestAttack_D11: a refund that comes two windows late gives nothing to the
// window of now. What clients can do with aborted requests is in the table.
func TestAttack_D11(t *testing.T) {
	attack(t, "D11")
	eachWay(t, func(t *testing.T, w way) {
		rule, err := w.strategy.Bind(core.Rate{Limit: 5, Window: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		b := backends["memory"](t)
		ask := []core.Ask{{Cell: core.Cell{Space: core.NewSpace("p", minute, rule.Shape(), nil, nil), Key: core.NewKey("k", "a")}, Rule: rule, Cost: 1}}
		take := func(at int64) core.Verdict {
			out := make([]core.Verdict, 1)
			if _, err := b.Take(context.Background(), at, ask, out); err != nil {
				t.Fatal(err)
			}
			return out[0]
		}
		old := take(start)
		later := start + 2*minute + minute/2
		for take(later).OK {
		}
		if err := b.Settle(context.Background(), later, ask, []core.Receipt{old.Receipt}, []int64{-1}); err != nil {
			t.Fatal(err)
		}
		if take(later).OK {
			t.Error("the late refund let one more in")
		}
	})
}

// TestAttack_D12: refusals cost nothing: whoever keeps asking is admitted when
// promised, as if they had been quiet.
func TestAttack_D12(t *testing.T) {
	const n = 5
	eachWay(t, func(t *testing.T, w way) {
		c := newCounter(t, w, fmt.Sprint(n, "/m"))
		for c.at(start, "a", 1).Allowed {
		}
		before := peek(t, c, start+1, 1)
		for range 10 * n {
			c.at(start+1, "a", 1)
		}
		if after := peek(t, c, start+1, 1); after.RetryAfter != before.RetryAfter || after.ResetAfter != before.ResetAfter || after.Remaining != before.Remaining {
			t.Errorf("before %+v, after %+v", before, after)
		}
		if !c.at(start+1+before.RetryAfter.Microseconds(), "a", 1).Allowed {
			t.Error("refused at the promised instant")
		}
	})
}
