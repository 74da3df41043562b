package memcachedlimit

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// lives is when an item expires, in seconds since 1970.
func lives(t *testing.T, s *servers.Server, key string) int64 {
	t.Helper()
	reply := s.Tell("mg " + key + " t")[0]
	rest, err := strconv.ParseInt(strings.TrimPrefix(reply, "HD t"), 10, 64)
	if err != nil || rest < 0 {
		t.Fatalf("of %s the server says %q", key, reply)
	}
	return time.Now().Unix() + rest
}

// Every item outlives what it is good for, and not for long.
func TestItemsExpireWhenTheyNoLongerMatter(t *testing.T) {
	s := servers.Memcached(t)
	b := on(t, s)
	for _, strategy := range all {
		for _, window := range []time.Duration{200 * time.Millisecond, 999 * time.Millisecond, time.Minute, 40 * 24 * time.Hour} {
			a := asking(t, strategy, 3, window)
			now := time.Now()
			v, err := take(b, 0, a)
			if err != nil {
				t.Fatal(err)
			}
			key := itemOf(t, b, 0, a)
			if window < time.Second {
				continue // its number may have changed since; see TestFault_C4 and unfit
			}
			expires := lives(t, s, key)
			// The figures of a verdict end with the last instant that matters.
			until := now.Add(time.Duration(v.ResetAfter) * time.Microsecond).Unix()
			longest := now.Add(2*window).Unix() + slack + 3
			if expires < until || expires > longest {
				t.Errorf("%+v per %v: it expires at %d, matters until %d and may stay until %d", strategy, window, expires, until, longest)
			}
		}
	}
	for _, what := range unfit(s) {
		t.Error(what)
	}
}

// Explicit instants say nothing about how long an item is of use.
func TestExplicitInstantsLiveAnHour(t *testing.T) {
	s := servers.Memcached(t)
	b := on(t, s)
	for _, at := range []int64{1, 1_700_000_000_000_000, 4_102_444_800_000_000} {
		for _, strategy := range all {
			a := asking(t, strategy, 3, time.Second)
			if _, err := take(b, at, a); err != nil {
				t.Fatal(err)
			}
			if rest := lives(t, s, itemOf(t, b, at, a)) - time.Now().Unix(); rest < leastExplicit-5 || rest > leastExplicit+5 {
				t.Errorf("%+v at %d lives %d s", strategy, at, rest)
			}
		}
	}
}

func TestExpiry(t *testing.T) {
	now := time.Now().Unix()
	for _, c := range []struct {
		rest     int64
		explicit bool
		want     int64
	}{
		{-5, false, 1 + slack},
		{0, false, 1 + slack},
		{1, false, 1 + slack},
		{1e6, false, 2 + slack},
		{1e6, true, leastExplicit},
		{(longestRelative - slack - 1) * 1e6, false, longestRelative},
		{(longestRelative - slack) * 1e6, false, now + longestRelative + 1},
		{math.MaxInt64, false, longestRelative}, // beyond January 2038
	} {
		if got := int64(expiry(c.rest, c.explicit)); got != c.want && got != c.want+1 {
			t.Errorf("expiry(%d, %v) = %d, want %d", c.rest, c.explicit, got, c.want)
		}
	}
}

// A window's end does not depend on when memcached forgets its counter, nor on
// how often it is hit.
func TestFault_C5(t *testing.T) {
	b := on(t, shared.single())
	const n, window = 5, time.Second
	for _, strategy := range []core.Strategy{core.FixedWindow{}, core.SlidingWindow{}, core.BucketedWindow{}} {
		a := asking(t, strategy, n, window)
		admitted := map[int64]int64{} // by window
		y := layoutOfShape("fixed-staggered", window.Microseconds())
		phase := a.Cell.Phase(0)
		windows := time.Duration(count("STINT_WINDOWS", 2, 10))
		for still := during(windows * window); still(); {
			out := make([]core.Verdict, 1)
			now, err := b.Take(t.Context(), 0, []core.Ask{a}, out)
			if err != nil {
				t.Fatal(err)
			}
			if out[0].OK {
				admitted[y.number(now, phase)]++
			}
		}
		if len(admitted) < int(windows) {
			t.Errorf("%T: admitted in %d windows only", strategy, len(admitted))
		}
		for number, units := range admitted {
			if units > n {
				t.Errorf("%T: %d units in window %d", strategy, units, number)
			}
		}
	}
}
