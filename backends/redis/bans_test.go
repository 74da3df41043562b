package redislimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

// A catcher is a backend that keeps the asks of the last decision.
type catcher struct {
	core.Backend
	asks []core.Ask
}

func (c *catcher) Take(_ context.Context, _ int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	c.asks = append(c.asks[:0], asks...)
	return 1, nil
}

// ruleOf is the rule of a ban, which only a Limiter makes.
func ruleOf(t testing.TB, ban core.Ban) core.Rule {
	t.Helper()
	var c catcher
	l := limiter(t, &c, core.Policy{Name: "p", Rate: "1/s", Ban: &ban})
	if _, err := l.Allow(t.Context(), "p", core.NewKey("k", "v"), 1); err != nil || len(c.asks) != 2 || !c.asks[1].IsBan() {
		t.Fatalf("%v: asked for %v", err, c.asks)
	}
	return c.asks[1].Rule
}

// Bans walk through random timelines of their own: strikes singly and as debt, up
// to the longest ban and back by forgiveness, also while the clock goes back.
func TestBansEqualTheRule(t *testing.T) {
	steps := count("STINT_STEPS", 12_000, 240_000)
	seed := rand.Uint64()
	inlined, general := on(t, shared.single()), on(t, shared.single())
	inlined.plans.most, general.plans.most = 1<<20, 0
	longest := time.Duration(core.MaxWindow) * time.Microsecond
	bans := []core.Ban{
		{After: 3, Within: time.Minute, For: time.Minute},
		{After: 2, Within: time.Second, For: 700 * time.Millisecond, Max: 10 * time.Second, Forgive: 3 * time.Second},
		{After: 1, Within: time.Millisecond, For: time.Millisecond, Max: time.Hour, Forgive: time.Minute},
		{After: 10, Within: time.Hour, For: time.Minute, Max: 24 * time.Hour, Forgive: time.Millisecond},
		{After: core.MaxLimit, Within: longest, For: longest, Max: longest, Forgive: longest},
		{After: 2, Within: longest, For: time.Millisecond, Max: longest, Forgive: longest},
	}
	escalated, ceilings, forgiven := 0, 0, 0
	for i, ban := range bans {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			other := ban
			other.After = max(1, ban.After/2)
			c := timelineCase{name: "ban", rule: ruleOf(t, ban), other: ruleOf(t, other), rate: core.Rate{Limit: ban.After, Window: ban.Within}}
			for _, d := range []time.Duration{ban.Within, ban.For, max(ban.For, ban.Max), max(ban.Forgive, time.Millisecond)} {
				c.spans = append(c.spans, d.Microseconds())
			}
			for k, b := range []*Backend{inlined, general} {
				l := newTimeline(t, b, c, rand.New(rand.NewPCG(seed, uint64(2*i+k))))
				for range steps / len(bans) / 2 {
					row := l.state[3]
					l.run(1)
					switch now := l.state[3]; {
					case now > row && l.state[2]-l.now >= max(ban.For, ban.Max).Microseconds() && row > 0:
						ceilings++
					case now > row && row > 0:
						escalated++
					case now < row && row > 0:
						forgiven++
					}
					if t.Failed() {
						t.Fatalf("seed %d, step of %d", seed, k)
					}
				}
			}
		})
	}
	if escalated < 20 || ceilings < 20 || forgiven < 20 {
		t.Errorf("escalated %d times, to the ceiling %d times, forgiven %d times", escalated, ceilings, forgiven)
	}
}

// A decision about rates and a ban is one EVALSHA, and so is what it begins.
func TestRatesAndBanAreOneCommand(t *testing.T) {
	s := single(t)
	b := must(t, plainClient(t, s.Addr()), Options{Timeout: patient, DenyCache: -1})
	for name, policy := range map[string]core.Policy{
		"rates": {Name: "p", Rate: "2/d; 9/w", Strategy: core.FixedWindow{}, Ban: &core.Ban{After: 2, Within: time.Hour, For: 20 * 24 * time.Hour}},
		"a function": {Name: "f", RateFunc: func(string, core.Request) (core.Rates, error) { return core.ParseRates("2/d") },
			Strategy: core.MovingWindow{}, Ban: &core.Ban{After: 2, Within: time.Hour, For: 20 * 24 * time.Hour}},
	} {
		l := limiter(t, b, policy)
		key := core.NewKey("user", t.Name()+name)
		allow(t, l, policy.Name, core.NewKey("user", t.Name()), 1) // the script is known from here on
		var said []string
		s.Do("CONFIG", "RESETSTAT")
		for range 6 {
			d := allow(t, l, policy.Name, key, 1)
			said = append(said, fmt.Sprint(d.Allowed, d.Banned))
		}
		if want := "[true false true false false false false true false true false true]"; fmt.Sprint(said) != want {
			t.Errorf("%s: %v, want %v", name, said, want)
		}
		if sha, eval := commands(t, s, "evalsha"), commands(t, s, "eval"); sha != 6 || eval != 0 {
			t.Errorf("%s: 6 decisions were %d EVALSHA and %d EVAL", name, sha, eval)
		}
	}
}
