package matrix

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/core"
)

// TestWhatComesAfterIsTheSameEverywhere sends one trace through limiters with all
// that can happen beside and after a decision, at once: several policies, identities
// and rates by function, limiters in one another. Every backend answers alike.
func TestWhatComesAfterIsTheSameEverywhere(t *testing.T) {
	want := strings.Split(afterTrace(t, backends["memory"](t)), "\n")
	for name, open := range backends {
		t.Run(name, func(t *testing.T) {
			got := strings.Split(afterTrace(t, open(t)), "\n")
			if d := firstDifference(got, want); d != "equal" {
				t.Error(d)
			}
		})
	}
}

var afterRates = map[string]core.Rates{
	"ann": {{Limit: 4, Window: time.Minute}, {Limit: 20, Window: time.Hour}},
	"bob": {{Limit: 2, Window: time.Minute}},
	"":    {},
}

func afterTrace(t *testing.T, b core.Backend) string {
	now := time.Unix(1_900_000_000, 0)
	config := core.Config{Backend: b, Now: func() time.Time { return now }, Phase: func(core.Cell) int64 { return 0 },
		User: func(r core.Request) string { return r.Header("X-User") }}
	outer, inner := config, config
	outer.Policies = []core.Policy{
		{Name: "each", Rate: "6/m", Strategy: core.GCRA{}, Key: core.Each(core.ByIP, core.ByUserOrIP),
			CountIf: core.OnStatus(401), ResetIf: core.OnStatus(201),
			Ban: &core.Ban{Failures: true, After: 4, Within: 10 * time.Minute, For: 3 * time.Minute, Max: 10 * time.Minute}},
		{Name: "plan", Key: core.ByUserOrIP, Ban: &core.Ban{After: 9, Within: 5 * time.Minute, For: 2 * time.Minute},
			RateFunc: func(_ string, r core.Request) (core.Rates, error) { return afterRates[r.User()], nil }},
		{Name: "tokens", Rate: "50/m", Strategy: core.BucketedWindow{}, Cost: 10, Reserve: true},
		{Name: "running", Rate: "3/2m", Strategy: core.InFlight{}},
		{Name: "tried", Rate: "9/m", Candidate: &core.Candidate{Rate: "5/m; 30/h", Strategy: core.MovingWindow{}, Share: 60}},
		{Name: "shadow", Rate: "3/m", Mode: core.Shadow},
		{Name: "note", Rate: "5/m", Mode: core.Annotate, CountIf: core.OnStatus(4)},
	}
	inner.Policies = []core.Policy{{Name: "inner", Rate: "7/m", CountIf: core.OnStatus(200), ResetIf: core.OnStatus(500)}}
	l, in := must(core.New(outer)), must(core.New(inner))

	var status int
	var actual int64
	h := httplimit.New(l)(httplimit.New(in)(httplimit.New(l)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if actual >= 0 {
			check(t, httplimit.Reservation(r).Commit(r.Context(), actual))
		}
		w.WriteHeader(status)
	}))))
	var log strings.Builder
	var running []*core.Visit
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 800 {
		now = now.Add(time.Duration(rng.Int64N(int64(15 * time.Second))))
		status, actual = []int{200, 200, 401, 401, 201, 404, 500}[rng.IntN(7)], rng.Int64N(25)-3
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", rng.IntN(2))
		r.Header.Set("X-User", []string{"", "ann", "bob"}[rng.IntN(3)])
		switch k := rng.IntN(40); {
		case k == 0: // a request that goes on
			v := new(core.Visit)
			l.Enter(httplimit.Request(r), 0, v)
			running = append(running, v)
			fmt.Fprintln(&log, i, "enter", v.Pass, v.Decision.Policy)
		case k == 1 && len(running) > 0: // and ends
			running[0].Leave()
			running = running[1:]
		case k == 2:
			check(t, l.Ban(context.Background(), "plan", core.KeyOf(core.KindUser, "", "bob"), time.Minute))
		case k == 3:
			check(t, l.Unban(context.Background(), "each", core.KeyOfPrefix(netip.MustParsePrefix("192.0.2.1/32"))))
		default:
			h.ServeHTTP(w, r)
			fmt.Fprintln(&log, i, w.Code, w.Header()["Ratelimit"], w.Header()["Retry-After"], w.Body)
		}
	}
	for _, policy := range []string{"tried", "shadow"} {
		trial := must(l.Trial(policy))
		fmt.Fprintln(&log, policy, trial)
		if trial.Agreed == 0 || trial.NewlyRefused == 0 {
			t.Errorf("the trace shows too little of %s: %+v", policy, trial)
		}
	}
	for _, has := range []string{" 200 ", " 201 ", " 401 ", " 404 ", " 500 ", " 429 ", "abnormal"} {
		if !strings.Contains(log.String(), has) {
			t.Errorf("the trace has no %q", has)
		}
	}
	return log.String()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
