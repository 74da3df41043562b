package core

import (
	"fmt"
	"testing"
	"time"
)

// shareOf is the rule of one of n instances.
func shareOf(t *testing.T, s Strategy, rate Rate, cost, n int64) (whole, share Rule) {
	t.Helper()
	whole, err := s.Bind(rate)
	if err != nil {
		t.Fatal(err)
	}
	b := &binder{policy: &policy{cost: cost}, strategy: s, instances: n}
	return whole, b.share(rate, whole)
}

// A share admits its part at once, at least one and what a request costs, and no
// more than the whole; and it is a share of the same cells.
func TestShares(t *testing.T) {
	for _, s := range []Strategy{FixedWindow{}, FixedWindow{Align: FirstHit}, SlidingWindow{}, BucketedWindow{}, MovingWindow{}, GCRA{}} {
		for _, tc := range []struct{ limit, cost, instances, want int64 }{
			{100, 1, 0, 100}, {100, 1, 1, 100}, {100, 1, 2, 50}, {100, 1, 3, 33}, {100, 1, 1000, 1},
			{100, 40, 4, 40}, {100, 25, 4, 25}, {100, 100, 7, 100}, {1, 1, 5, 1}, {0, 1, 5, 0},
		} {
			name := fmt.Sprintf("%s %+v", s.Name(), tc)
			whole, share := shareOf(t, s, per(tc.limit, time.Minute), tc.cost, tc.instances)
			if got := capacity(share); got != tc.want {
				t.Errorf("%s: %d at once", name, got)
			}
			if share.Shape() != whole.Shape() || share.Words() != whole.Words() {
				t.Errorf("%s: the share counts in cells of another shape", name)
			}
			var state State
			if n := share.Words(); n > 0 {
				state = make(State, n)
			}
			if v := share.Decide(state, epoch, 0, min(tc.cost, tc.limit)); v.OK != (tc.limit > 0) {
				t.Errorf("%s: a request that pays the fixed cost: %+v", name, v)
			}
		}
	}
}

// A burst is divided as the limit is, each with its own lower bound.
func TestSharesOfABurst(t *testing.T) {
	for _, tc := range []struct{ limit, burst, cost, instances, wantLimit, wantBurst int64 }{
		{100, 20, 1, 4, 25, 5},
		{100, 3, 1, 4, 25, 1},
		{100, 20, 8, 4, 25, 8},
		{2, 20, 1, 4, 1, 5},
		{100, 20, 20, 400, 1, 20},
	} {
		_, share := shareOf(t, GCRA{Burst: tc.burst}, per(tc.limit, time.Minute), tc.cost, tc.instances)
		r := share.(*gcraRule)
		if r.limit != tc.wantLimit || r.burst != tc.wantBurst {
			t.Errorf("%+v: limit %d, burst %d", tc, r.limit, r.burst)
		}
	}
	// Where no such rule can be, there is none, and the policy is closed.
	year := per(1000, 366*24*time.Hour)
	if _, share := shareOf(t, GCRA{}, year, 1000, 1000); capacity(share) != 1000 {
		t.Errorf("%d at once", capacity(share))
	}
	if _, share := shareOf(t, GCRA{Burst: 1000}, year, 1000, 1000); share != nil {
		t.Errorf("1000 a thousand years: %+v", share)
	}
}

// stubborn is a strategy whose capacity no limit changes, and that can not be
// divided.
type stubborn struct{ GCRA }

func (s stubborn) Bind(r Rate) (Rule, error) { return s.GCRA.Bind(r) }
func (stubborn) Divide()                     {}

func TestSharesOfAStrangersStrategy(t *testing.T) {
	_, share := shareOf(t, stubborn{GCRA{Burst: 12}}, per(100, time.Minute), 1, 4)
	if r := share.(*gcraRule); r.limit != 25 || r.burst != 12 {
		t.Errorf("limit %d, burst %d", r.limit, r.burst)
	}
}
