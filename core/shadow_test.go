package core_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// On a recorded trace every Decision is the same with and without a candidate and
// a shadow policy, and what these count is what enforcing them would have done.
func TestShadowsChangeNothingAndForetell(t *testing.T) {
	enforced := core.Policy{Name: "api", Rate: "5/m", Strategy: core.MovingWindow{}}
	candidate := core.Policy{Name: "api", Rate: "8/m; 40/h", Strategy: core.GCRA{}}
	shadow := core.Policy{Name: "strict", Rate: "3/m", Strategy: core.MovingWindow{}, CountDenied: true}

	tried, silent := enforced, shadow
	tried.Candidate = &core.Candidate{Rate: candidate.Rate, Strategy: candidate.Strategy}
	silent.Mode = core.Shadow

	c := newClock()
	plain, with := limiter(t, c, enforced), limiter(t, c, tried, silent)
	wider, stricter := limiter(t, c, candidate), limiter(t, c, shadow)
	var api, strict core.Trial
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		c.advance(time.Duration(rng.Int64N(int64(4 * time.Second))))
		n := get(fmt.Sprintf("192.0.2.%d", rng.IntN(3)))
		a, b := visit(plain, n), visit(with, n)
		if !sameDecision(a.Decision, b.Decision) || a.Pass != b.Pass || string(a.Response.Body) != string(b.Response.Body) {
			t.Fatalf("%+v, with shadows %+v", a, b)
		}
		tally(&api, a.Pass, visit(wider, n).Pass)
		tally(&strict, true, visit(stricter, n).Pass)
	}
	for name, want := range map[string]core.Trial{"api": api, "strict": strict} {
		if got, err := with.Trial(name); err != nil || got != want {
			t.Errorf("%s: %+v, enforcing it %+v, %v", name, got, want, err)
		}
	}
	if api.Agreed == 0 || api.NewlyAllowed == 0 || api.NewlyRefused == 0 || strict.NewlyRefused == 0 {
		t.Errorf("the trace shows too little: %+v %+v", api, strict)
	}
}

func tally(t *core.Trial, enforced, would bool) {
	switch {
	case enforced == would:
		t.Agreed++
	case enforced:
		t.NewlyRefused++
	default:
		t.NewlyAllowed++
	}
}

// sameDecision compares what can be seen of two decisions.
func sameDecision(a, b core.Decision) bool {
	fields := func(d core.Decision) (list []string) {
		for name, value := range d.Header() {
			list = append(list, name+": "+value)
		}
		for e := range d.Entries() {
			list = append(list, fmt.Sprintf("%+v", e))
		}
		return append(list, fmt.Sprint(d.Allowed, d.Limited, d.Degraded, d.Policy, d.Limit, d.Remaining, d.RetryAfter, d.NextAfter, d.ResetAfter))
	}
	return reflect.DeepEqual(fields(a), fields(b))
}

// A share takes in about that part of the identities, and always the same ones.
func TestCandidateForAShare(t *testing.T) {
	c := newClock()
	p := core.Policy{Name: "api", Rate: "9/m", Candidate: &core.Candidate{Rate: "1/m", Share: 25}}
	l, again := limiter(t, c, p), limiter(t, c, p)
	for i := range 2000 {
		before, _ := l.Trial("api")
		for _, l := range []*core.Limiter{l, again} {
			if _, err := l.Allow(t.Context(), "api", core.NewKey("user", fmt.Sprint(i)), 1); err != nil {
				t.Fatal(err)
			}
		}
		a, _ := l.Trial("api")
		if b, _ := again.Trial("api"); a != b {
			t.Fatalf("identity %d: %+v and %+v after %+v", i, a, b, before)
		}
	}
	if got, _ := l.Trial("api"); got.Agreed < 400 || got.Agreed > 600 {
		t.Errorf("%d of 2000 take part", got.Agreed)
	}
}

// The smallest share is not that of all.
func TestCandidateForNearlyNobody(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "api", Rate: "9/m", Candidate: &core.Candidate{Rate: "1/m", Share: 1e-9}})
	for i := range 20 {
		if _, err := l.Allow(t.Context(), "api", core.NewKey("user", fmt.Sprint(i)), 1); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := l.Trial("api"); got != (core.Trial{}) {
		t.Errorf("%+v", got)
	}
}

// A look is no trial, and a policy in Mode Shadow is not to be seen.
func TestShadowIsSilent(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "api", Rate: "1/d", Mode: core.Shadow})
	for range 3 {
		if w := serve(l, "192.0.2.1"); w.Code != 200 || w.Header().Get("RateLimit") != "" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
		if d, err := l.PeekRequest(get("192.0.2.1")); err != nil || !d.Allowed || d.Limited || d.Policy != "" {
			t.Errorf("%+v, %v", d, err)
		}
	}
	if got, err := l.Trial("api"); err != nil || got != (core.Trial{Agreed: 1, NewlyRefused: 2}) {
		t.Errorf("%+v, %v", got, err)
	}
	if d, err := l.Allow(t.Context(), "api", core.NewKey("user", "bob"), 1); err != nil || !d.Allowed || d.Policy != "" {
		t.Errorf("%+v, %v", d, err)
	}
}

// A shadow that can not be asked about concerns nobody.
func TestShadowOfABrokenBackend(t *testing.T) {
	for _, err := range []error{core.ErrUnavailable, core.ErrProtocol} {
		l := configured(t, core.Config{Backend: &counted{Backend: memory.New(), broken: err},
			Policies: []core.Policy{{Name: "api", Rate: "1/d", Mode: core.Shadow}}})
		for range 2 {
			if v := visit(l, get("192.0.2.1")); !v.Pass || v.Decision.Degraded {
				t.Errorf("%+v", v)
			}
		}
		if got, err := l.Trial("api"); err != nil || got != (core.Trial{}) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// Some verdicts of a Take break, others do not.
type partly struct{ core.Backend }

func (p partly) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (now int64, err error) {
	now, err = p.Backend.Take(ctx, at, asks, out)
	for i := range asks {
		if asks[i].Group != 0 {
			out[i] = core.Verdict{Err: core.ErrUnavailable}
		}
	}
	return now, err
}

func TestShadowThatAloneIsBroken(t *testing.T) {
	l := configured(t, core.Config{Backend: partly{memory.New()},
		Policies: []core.Policy{{Name: "api", Rate: "1/d", Strategy: core.MovingWindow{}, Candidate: &core.Candidate{Rate: "5/d"}}}})
	for i := range 2 {
		if v := visit(l, get("192.0.2.1")); v.Pass != (i == 0) || v.Decision.Degraded {
			t.Errorf("%+v", v)
		}
	}
	if got, _ := l.Trial("api"); got != (core.Trial{}) {
		t.Errorf("%+v", got)
	}
}

// A value that is missing refuses where it is enforced; a shadow counts it.
func TestShadowLacksAValue(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "key", Rate: "1/d", Mode: core.Shadow, By: "header:X-Api-Key", Missing: core.MissingRefuse})
	if v := visit(l, get("192.0.2.1")); !v.Pass || v.Decision.Policy != "" {
		t.Errorf("%+v", v)
	}
	if _, err := l.PeekRequest(get("192.0.2.1")); err != nil { // a look is no trial
		t.Fatal(err)
	}
	if err := l.ResetRequest(get("192.0.2.1")); err != nil {
		t.Fatal(err)
	}
	if got, _ := l.Trial("key"); got != (core.Trial{NewlyRefused: 1}) {
		t.Errorf("%+v", got)
	}
}

// Rates by function can be shadows.
func TestShadowByFunction(t *testing.T) {
	rates, err := core.ParseRates("1/d")
	if err != nil {
		t.Fatal(err)
	}
	l := limiter(t, newClock(), core.Policy{Name: "plan", Mode: core.Shadow,
		RateFunc: func(string, core.Request) (core.Rates, error) { return rates, nil }})
	for range 2 {
		if v := visit(l, get("192.0.2.1")); !v.Pass || v.Decision.Policy != "" {
			t.Errorf("%+v", v)
		}
	}
	if got, _ := l.Trial("plan"); got != (core.Trial{Agreed: 1, NewlyRefused: 1}) {
		t.Errorf("%+v", got)
	}
}

// A Reset forgets what the candidate has counted too.
func TestResetReachesTheCandidate(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "api", Rate: "9/d", Candidate: &core.Candidate{Rate: "1/d"}})
	for range 3 {
		if v := visit(l, get("192.0.2.1")); !v.Pass {
			t.Errorf("%+v", v)
		}
		if err := l.ResetRequest(get("192.0.2.1"), "api"); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := l.Trial("api"); got != (core.Trial{Agreed: 3}) {
		t.Errorf("%+v", got)
	}
}

func TestTrialIsCheckedByNew(t *testing.T) {
	rate := func(string, core.Request) (core.Rates, error) { return nil, nil }
	_, err := core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{
		{Name: "a", Rate: "1/m", Mode: core.Shadow, Candidate: &core.Candidate{Rate: "2/m"}},
		{Name: "b", RateFunc: rate, Candidate: &core.Candidate{Rate: "2/m"}},
		{Name: "c", Rate: "1/m", Candidate: &core.Candidate{}},
		{Name: "d", Rate: "1/m", Candidate: &core.Candidate{Rate: "2/m", Share: 101}},
		{Name: "e", Rate: "1/m", Candidate: &core.Candidate{Rate: "2/fortnight"}},
	}})
	for _, part := range []string{`"a": Candidate: the policy is in Mode Shadow`, `"b": Candidate: there is none beside a RateFunc`,
		`"c": Candidate: set Rate`, `"d": Candidate: a share of 101`, `"e": Candidate: `} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
	l := limiter(t, newClock(), core.Policy{Name: "api", Rate: "1/m"})
	if _, err := l.Trial("api"); err == nil {
		t.Error("there is no trial")
	}
	if _, err := l.Trial("other"); err == nil || errors.Is(err, core.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}
