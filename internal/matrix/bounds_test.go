package matrix

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/oracle"
)

// A bounded is a strategy whose bound is to be held and reached.
type bounded struct {
	name     string // of the bound: strategies with one name share it
	strategy core.Strategy
}

var bounds = []bounded{
	{"fixed window, first hit", core.FixedWindow{Align: core.FirstHit}},
	{"fixed window", core.FixedWindow{}},
	{"fixed window", core.FixedWindow{Align: core.Clock}},
	{"bucketed window", core.BucketedWindow{}},
	{"bucketed window", core.BucketedWindow{Align: core.Clock}},
	{"bucketed window, inclusive", core.BucketedWindow{Inclusive: true}},
	{"sliding window", core.SlidingWindow{}},
	{"sliding window", core.SlidingWindow{Align: core.Clock}},
	{"moving window", core.MovingWindow{}},
	{"gcra", core.GCRA{}},
	{"gcra", core.GCRA{Burst: 1}},
	{"gcra", core.GCRA{Burst: 4}},
}

// tallies are what the attacks on one backend have found.
type tallies struct {
	mu        sync.Mutex
	decisions int64
	excess    map[string]int64 // by name: the most units admitted in a window, less the bound
}

// TestBounds puts random, edge-hugging and greedy clients against every strategy
// on every backend: each decision is the oracle's, nobody gets more than the
// stated bound in intervals of any length, and each bound is reached. For that
// many decisions as STINT_DECISIONS says, a thousandth of it on stores outside
// the process; make bounds prints what it found.
func TestBounds(t *testing.T) {
	want := int64(200_000)
	if n, err := strconv.ParseInt(os.Getenv("STINT_DECISIONS"), 10, 64); err == nil && n > 0 {
		want = n
	}
	for _, name := range slices.Sorted(maps.Keys(backends)) {
		found := &tallies{excess: map[string]int64{}}
		n := want
		if name != "memory" {
			n = max(want/1000, 12_000)
		}
		t.Run(name, func(t *testing.T) {
			b := backends[name](t)
			var wg sync.WaitGroup
			for worker := range 4 { // a store outside the process waits most of the time
				wg.Go(func() { found.attack(t, b, rand.New(rand.NewPCG(uint64(worker), 3)), n) })
			}
			wg.Wait()
			found.print(t, name)
		})
	}
}

func (y *tallies) attack(t *testing.T, b core.Backend, rng *rand.Rand, enough int64) {
	limits := []int64{1, 2, 3, 7, 100, 9_999}
	windows := []time.Duration{time.Millisecond, 7919 * time.Microsecond, 700 * time.Millisecond, time.Minute, 366 * 24 * time.Hour}
	kinds := slices.Sorted(maps.Keys(oracle.Schedules))
	for round := 0; !t.Failed(); round++ {
		w := bounds[round%len(bounds)]
		rate := core.Rate{Limit: limits[rng.IntN(len(limits))], Window: windows[rng.IntN(len(windows))]}
		if round/len(bounds)%2 == 0 { // bounds are reached where limits are small
			rate = core.Rate{Limit: 1 + rng.Int64N(7), Window: 700 * time.Millisecond}
		}
		rule, err := w.strategy.Bind(rate)
		if err != nil {
			continue // such as a burst that would take centuries to return
		}
		burst, _ := rule.Quota()
		h := newHistory(b, oracle.Rule{Shape: rule.Shape(), Limit: rate.Limit, Window: rate.Window.Microseconds(), Burst: burst}, rule, rng)
		if err := h.run(oracle.Schedules[kinds[rng.IntN(len(kinds))]], 120); err != nil {
			t.Errorf("%v %d per %v: %v", w.name, rate.Limit, rate.Window, err)
		}
		if y.add(t, w.name, h) >= enough {
			return
		}
	}
}

// add looks through a history's log, and counts its decisions.
func (y *tallies) add(t *testing.T, name string, h *history) (decisions int64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, length := range oracle.Lengths(h.oracle) {
		bound := oracle.Bound(h.oracle, length)
		excess := new(big.Int).Sub(big.NewInt(oracle.Most(h.log, length)), bound).Int64()
		if excess > 0 {
			t.Errorf("%s %+v: %d units beyond %v in %d µs", name, h.oracle, excess, bound, length)
		}
		if old, known := y.excess[name]; length == h.oracle.Window && (!known || excess > old) {
			y.excess[name] = excess
		}
	}
	y.decisions += h.decisions
	return y.decisions
}

func (y *tallies) print(t *testing.T, backend string) {
	reached, worst := 0, int64(math.MinInt64)
	for _, name := range slices.Sorted(maps.Keys(y.excess)) {
		if y.excess[name] == 0 {
			reached++
		} else if y.excess[name] < 0 {
			t.Errorf("%s: %d units below the bound at best: the attack is weak", name, -y.excess[name])
		}
		worst = max(worst, y.excess[name])
	}
	fmt.Printf("decisions/%s %d decisions\nover-admission/%[1]s %[3]d units\nbounds-reached/%[1]s %[4]d/%[5]d strategies\n", backend, y.decisions, worst, reached, len(y.excess))
}

// A history is one client of one fresh cell.
type history struct {
	backend   core.Backend
	oracle    oracle.Rule
	cell      oracle.Oracle
	ask       core.Ask
	rng       *rand.Rand
	now       int64
	last      core.Verdict
	log       []oracle.Charge
	decisions int64
}

func newHistory(b core.Backend, known oracle.Rule, rule core.Rule, rng *rand.Rand) *history {
	phase := rng.Int64N(known.Window)
	space := core.NewSpace("bounds", known.Window, known.Shape, nil, func(core.Cell) int64 { return phase })
	h := &history{backend: b, oracle: known, cell: oracle.Of(known, phase), rng: rng}
	h.ask = core.Ask{Cell: core.Cell{Space: space, Key: core.NewKey("k", strconv.FormatUint(rng.Uint64(), 36))}, Rule: rule}
	// From just before an edge, of the phase or of the clock, or from anywhere.
	edge := start - start%known.Window
	h.now = []int64{edge + phase - 1, edge + known.Window - 1, start + rng.Int64N(known.Window)}[rng.IntN(3)]
	return h
}

// run makes decisions of a schedule, each of which must be the oracle's.
func (h *history) run(next oracle.Schedule, steps int) error {
	defer h.backend.Reset(context.Background(), h.ask.Cell)
	units, window := h.ask.Rule.Quota()
	if h.oracle.Shape == "fixed-first" && h.rng.IntN(2) == 0 { // the opener, and the others just before the end
		if err := h.take(0, 1); err != nil {
			return err
		}
		if err := h.take(h.oracle.Window-1, max(0, units-1)); err != nil {
			return err
		}
	}
	for range steps {
		wait, cost := next(h.rng, oracle.View{Units: units, Window: window, Remaining: h.last.Remaining,
			NextAfter: h.last.NextAfter, RetryAfter: h.last.RetryAfter, ResetAfter: h.last.ResetAfter})
		if h.now+wait > start+1<<50 {
			return nil
		}
		if err := h.take(wait, cost); err != nil {
			return err
		}
	}
	return nil
}

func (h *history) take(wait, cost int64) error {
	h.now += wait
	h.ask.Cost = cost
	out := make([]core.Verdict, 1)
	if _, err := h.backend.Take(context.Background(), h.now, []core.Ask{h.ask}, out); err != nil {
		return err
	}
	h.decisions++
	h.last = out[0]
	if want := cost <= h.cell.Free(h.now); h.last.OK != want {
		return fmt.Errorf("cost %d at %d, decision %d: admitted %v, the oracle says %v", cost, h.now, h.decisions, h.last.OK, want)
	}
	if h.last.OK && cost > 0 {
		h.cell.Charge(h.now, cost)
		h.log = append(h.log, oracle.Charge{At: h.now, Units: cost})
	}
	return nil
}
