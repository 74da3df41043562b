package core

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// ban is a rule whose settings are whole seconds.
func ban(t *testing.T, after int64, within, length, longest, forgive int64) *banRule {
	t.Helper()
	s := func(n int64) time.Duration { return time.Duration(n) * time.Second }
	r, err := Ban{After: after, Within: s(within), For: s(length), Max: s(longest), Forgive: s(forgive)}.bind()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A timeline of strikes. Each row strikes once and then looks: the ban that is
// left, in seconds, and the strikes that are left before one.
func TestBanTimeline(t *testing.T) {
	type row struct{ at, banned, left int64 }
	for name, test := range map[string]struct {
		rule *banRule
		rows []row
	}{
		"after three": {ban(t, 3, 60, 100, 0, 0), []row{{0, 0, 2}, {59, 0, 1}, {59, 100, 0}, {100, 59, 0}}},
		"too slow":    {ban(t, 3, 60, 100, 0, 0), []row{{0, 0, 2}, {30, 0, 1}, {60, 0, 2}, {90, 0, 1}, {120, 0, 2}}},
		"at once":     {ban(t, 1, 60, 100, 0, 0), []row{{0, 100, 0}, {99, 1, 0}, {100, 100, 0}}},
		"escalates": {ban(t, 1, 60, 100, 350, 1000), []row{
			{0, 100, 0}, {100, 200, 0}, {300, 350, 0}, {650, 350, 0}, {1000 + 999, 350, 0},
			{2349 + 1000, 100, 0}, // forgiven
		}},
		"does not":                      {ban(t, 1, 60, 100, 0, 0), []row{{0, 100, 0}, {100, 100, 0}, {200, 100, 0}}},
		"strikes before count no more":  {ban(t, 2, 60, 10, 0, 0), []row{{0, 0, 1}, {1, 10, 0}, {11, 0, 1}}},
		"a clock that goes back is old": {ban(t, 2, 60, 100, 0, 0), []row{{50, 0, 1}, {20, 130, 0}, {0, 150, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := make(State, 4)
			for _, w := range test.rows {
				now := epoch + w.at*sec
				s, _ = test.rule.Charge(s, now, 0, 1)
				v := test.rule.Decide(s, now, 0, 0)
				if v.OK != (w.banned == 0) || v.RetryAfter != w.banned*sec || v.NextAfter != w.banned*sec || v.Remaining != w.left {
					t.Errorf("at %d s: %+v", w.at, v)
				}
			}
		})
	}
}

// What Decide foretells of a strike is what the strike does; a ban lasts exactly
// as long as it says; from Until on the state equals the empty one; nothing is
// forgiven by a clock that goes back.
func TestBanKeepsItsPromises(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		r := ban(t, 1+rng.Int64N(4), 1+rng.Int64N(9), 1+rng.Int64N(9), 0, 1+rng.Int64N(40))
		r.longest = r.first * (1 + rng.Int64N(9))
		s, now := make(State, 4), epoch
		for range 40 {
			now += rng.Int64N(5*sec) >> rng.IntN(20)
			n := rng.Int64N(3)
			told := r.Decide(s, now, 0, n)
			was := r.Decide(s, now, 0, 0)
			s, _ = r.Charge(s, now, 0, n)
			is := r.Decide(s, now, 0, 0)
			if was.OK && (told.Remaining != is.Remaining || told.NextAfter != is.NextAfter || told.ResetAfter != is.ResetAfter) {
				t.Fatalf("foretold %+v, became %+v", told, is)
			}
			if !was.OK && is != was {
				t.Fatalf("a strike during a ban made %+v of %+v", is, was)
			}
			if !is.OK {
				if v := r.Decide(s, now+is.RetryAfter-1, 0, 0); v.OK {
					t.Fatal("the ban ends early")
				}
				if v := r.Decide(s, now+is.RetryAfter, 0, 0); !v.OK {
					t.Fatal("the ban ends late")
				}
				if v := r.Decide(s, now-rng.Int64N(100*sec), 0, 0); v.OK {
					t.Fatal("the ban is over at an earlier instant")
				}
			}
			end := max(now, r.Until(s))
			a, b := append(State(nil), s...), make(State, 4)
			if va, vb := r.Decide(a, end, 0, 1), r.Decide(b, end, 0, 1); va != vb {
				t.Fatalf("at the end %+v, of an empty cell %+v", va, vb)
			}
			for range 5 {
				at := end + rng.Int64N(20*sec)
				a, _ = r.Charge(a, at, 0, 1)
				b, _ = r.Charge(b, at, 0, 1)
				if va, vb := r.Decide(a, at, 0, 0), r.Decide(b, at, 0, 0); va.OK != vb.OK || va.RetryAfter != vb.RetryAfter {
					t.Fatalf("after the end %+v, of an empty cell %+v", va, vb)
				}
				end = at
			}
		}
	}
}

// By hand a ban is what it is said to be, longer or shorter than the one before.
func TestBanByHand(t *testing.T) {
	r := ban(t, 1, 60, 100, 400, 1000)
	s, _ := r.Charge(make(State, 4), epoch, 0, 1)
	for _, length := range []int64{5 * sec, 5000 * sec} {
		s = banByHand{r, length}.Settle(s, epoch, 0, Receipt{}, 1)
		if v := r.Decide(s, epoch, 0, 0); v.RetryAfter != length {
			t.Errorf("%+v", v)
		}
	}
	s, _ = r.Charge(s, epoch+5000*sec, 0, 1)
	if v := r.Decide(s, epoch+5000*sec, 0, 0); v.RetryAfter != 200*sec {
		t.Errorf("the next one: %+v", v) // the second of its kind
	}
}

// Where After was made lower than the strikes there are, the next one bans, and
// until then there are none left rather than less than none.
func TestBanWithALowerAfter(t *testing.T) {
	s, _ := ban(t, 10, 60, 100, 0, 0).Charge(make(State, 4), epoch, 0, 6)
	lower := ban(t, 5, 60, 100, 0, 0)
	if v := lower.Decide(s, epoch, 0, 0); !v.OK || v.Remaining != 0 {
		t.Errorf("%+v", v)
	}
	if v := lower.Decide(s, epoch, 0, 1); v.NextAfter != 100*sec {
		t.Errorf("%+v", v)
	}
}

// All that is wrong is in one error.
func TestBanRefusesBadSettings(t *testing.T) {
	_, err := Ban{After: 0, Within: time.Microsecond, For: 367 * 24 * time.Hour, Max: time.Second, Forgive: -1}.bind()
	for _, part := range []string{"After 0", "Within 1µs", "For 8808h", "Max 1s is shorter", "Forgive -1ns"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
}
