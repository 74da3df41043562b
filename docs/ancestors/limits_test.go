package ancestors

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func TestLimitsFixedWindow(t *testing.T) {
	// region fixed
	exactly := core.Policy{
		Name: "api", Rate: "10/m",
		Strategy:    core.FixedWindow{Align: core.FirstHit},
		CountDenied: true,
	}
	// endregion
	open(t, exactly).play(`
		50s   GET / -> 200 x10
		109s  GET / -> 429
		110s  GET / -> 200 x10
		110s  GET / -> 429`)
}

func TestLimitsMovingWindow(t *testing.T) {
	// region moving
	exact := core.Policy{Name: "api", Rate: "10/m", Strategy: core.MovingWindow{}}
	// endregion
	open(t, exact).play(`
		50s      GET / -> 200 x5
		59s      GET / -> 200 x5
		109.999s GET / -> 429
		110s     GET / -> 200 x5
		110s     GET / -> 429
		119s     GET / -> 200 x5`)
}

func TestLimitsSlidingWindowCounter(t *testing.T) {
	// region sliding
	sliding := core.Policy{Name: "api", Rate: "100/m", Strategy: core.SlidingWindow{Align: core.Clock}}
	// endregion
	open(t, sliding).play(`
		30s  GET / -> 200 x100
		30s  GET / -> 429
		90s  GET / -> 200 x50
		90s  GET / -> 429
		96s  GET / -> 200 x10`)
}

// A page that is asked for every 50 seconds keeps to 100 per minute by far.
func TestLimitsNoElasticExpiry(t *testing.T) {
	// region penalty
	strict := core.Policy{Name: "login", Rate: "5/m", Strategy: core.MovingWindow{}, CountDenied: true}
	// endregion
	open(t, strict).play(`
		0s   GET / -> 200 x5
		30s  GET / -> 429 x5
		60s  GET / -> 429 x5
		119s GET / -> 429
		178s GET / -> 200 x4
		178s GET / -> 429`)
	s := open(t, core.Policy{Name: "page", Rate: "100/m", Strategy: core.MovingWindow{}, CountDenied: true})
	for at := time.Duration(0); at < 3*time.Hour; at += 50 * time.Second {
		s.play(at.String() + " GET / -> 200")
	}
}

func TestLimitsNotation(t *testing.T) {
	for text, want := range map[string]string{
		"10 per minute":                 "10/m",
		"10/minute":                     "10/m",
		"10 PER 2 Hours":                "10/2h",
		"1/second; 10 per hour, 50/day": "1/s; 10/h; 50/d",
		"5 per month":                   "5/30d",
		"5 per year":                    "5/365d",
		"0/hour":                        "0/h",
	} {
		if rates, err := core.ParseRates(text); err != nil || rates.String() != want {
			t.Errorf("ParseRates(%q) = %v, %v; want %s", text, rates, err, want)
		}
	}
	for _, text := range []string{"10/0 minutes", "10/hour:;5/day", "10 minute", "1.5/s"} {
		if rates, err := core.ParseRates(text); err == nil {
			t.Errorf("ParseRates(%q) = %v, want an error", text, rates)
		}
	}
}

func TestLimitsMethods(t *testing.T) {
	l := open(t, core.Policy{Name: "api", Rate: "10/m", Strategy: core.MovingWindow{}}).Limiter
	ctx := t.Context()
	// region methods
	key := core.NewKey("tenant", "acme").With("resource", "exports") // identifiers, never joined as text

	hit, err := l.Allow(ctx, "api", key, 3)    // hit(item, "acme", "exports", cost=3)
	test, _ := l.Peek(ctx, "api", key, 7)      // test(item, …, cost=7)
	stats, _ := l.Peek(ctx, "api", key, 0)     // get_window_stats(item, …)
	tooMuch, _ := l.Allow(ctx, "api", key, 11) // a cost above the limit
	_ = l.Reset(ctx, "api", key)               // clear(item, …)
	// endregion
	if err != nil || !hit.Allowed || !test.Allowed {
		t.Error(err, hit.Allowed, test.Allowed)
	}
	if stats.Remaining != 7 || stats.ResetAfter != time.Minute {
		t.Error(stats.Remaining, stats.ResetAfter)
	}
	if tooMuch.Allowed || tooMuch.RetryAfter != core.NoRetry || tooMuch.Remaining != 7 {
		t.Error(tooMuch)
	}
	if after, _ := l.Peek(ctx, "api", key, 10); !after.Allowed {
		t.Error("not cleared")
	}
	if d, _ := l.Allow(ctx, "api", core.NewKey("tenant", "acme/exports"), 10); !d.Allowed {
		t.Error("a/b and a, b share a counter")
	}
}
