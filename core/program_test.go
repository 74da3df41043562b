package core_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

func TestEveryRuleHasItsProgram(t *testing.T) {
	const minute, second = 60_000_000, 1_000_000
	for want, s := range map[core.Program]core.Strategy{
		{Strategy: "fixed-window", Align: core.FirstHit, Limit: 7, Window: minute}:                   core.FixedWindow{Align: core.FirstHit},
		{Strategy: "sliding-window", Align: core.Clock, Limit: 7, Window: minute}:                    core.SlidingWindow{Align: core.Clock},
		{Strategy: "bucketed-window", Limit: 7, Window: minute, Precision: second, Counters: 61}:     core.BucketedWindow{Precision: time.Second},
		{Strategy: "bucketed-window", Limit: 7, Window: minute, Precision: 10 * second, Counters: 6}: core.BucketedWindow{Precision: 10 * time.Second, Inclusive: true},
		{Strategy: "moving-window", Limit: 7, Window: minute}:                                        core.MovingWindow{},
		{Strategy: "gcra", Limit: 7, Window: minute, Burst: 3}:                                       core.GCRA{Burst: 3},
	} {
		rule, err := s.Bind(core.Rate{Limit: 7, Window: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if got := rule.(core.Programmed).Program(); got != want {
			t.Errorf("%s: %+v, want %+v", s.Name(), got, want)
		}
		if want.Strategy != s.Name() {
			t.Errorf("%s calls itself %s", want.Strategy, s.Name())
		}
	}
}

// A log that has gone through its pairs decides as before.
func TestLogPairsAreTheWholeLog(t *testing.T) {
	rule, err := core.MovingWindow{}.Bind(core.Rate{Limit: 9, Window: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var direct, detour core.State
	for now := int64(1); now < 20_000_000; now += rng.Int64N(200_000) {
		cost := rng.Int64N(5)
		detour = core.LogState(core.LogPairs(detour))
		if a, b := rule.Decide(direct, now, 0, cost), rule.Decide(detour, now, 0, cost); a != b {
			t.Fatalf("at %d: %+v, and by its pairs %+v", now, a, b)
		}
		direct, _ = rule.Charge(direct, now, 0, cost)
		detour, _ = rule.Charge(detour, now, 0, cost)
		if a, b := core.LogPairs(direct), core.LogPairs(detour); !slices.Equal(a, b) {
			t.Fatalf("at %d: %v, and by its pairs %v", now, a, b)
		}
	}
	if core.LogState(nil) != nil {
		t.Error("no pairs are not the empty state")
	}
	if got := core.LogPairs(core.LogState([]int64{5, 1, 5, 2, 6, 1})); !slices.Equal(got, []int64{5, 3, 6, 1}) {
		t.Errorf("pairs of one stamp: %v", got)
	}
}
