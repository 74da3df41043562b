package core_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// Middleware behind the limiter may put a context with a deadline into the
// request, and end it when the handler returns: that is no client that hangs up.
func TestAContextThatEndsWithTheHandlerIsNoAbort(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "login", Rate: "3/d", CountIf: core.OnStatus(401)})
	n := get("192.0.2.1")
	v := enter(l, n)
	ctx, cancel := context.WithTimeout(n.Context(), time.Minute)
	r := httptest.NewRequest("GET", "/", nil).WithContext(ctx)
	cancel()
	v.Finish(httplimit.Request(r), 200)
	v.Leave()
	if left := remaining(t, l, n); left != 3 {
		t.Errorf("%d left", left)
	}
}

// What needs no status does not have adapters find it out.
func TestOnlyTheStatusConcernsAdapters(t *testing.T) {
	yes := core.OnStatus(200)
	for _, c := range []struct {
		policy core.Policy
		want   bool
	}{
		{core.Policy{Reserve: true}, false},
		{core.Policy{Strategy: core.InFlight{}}, false},
		{core.Policy{CountIf: yes}, true},
		{core.Policy{ResetIf: yes}, true},
	} {
		c.policy.Name, c.policy.Rate = "a", "1/m"
		if got := enter(limiter(t, newClock(), c.policy), get("192.0.2.1")).Waits(); got != c.want {
			t.Errorf("%+v: %t", c.policy, got)
		}
	}
}

// A handler that streams learns from Flush that its connection is gone.
func TestFlushTellsWhatBroke(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "login", Rate: "3/d", CountIf: core.OnStatus(401)})
	var err error
	h := httplimit.New(l)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err = http.NewResponseController(w).Flush()
	}))
	h.ServeHTTP(struct{ http.ResponseWriter }{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil))
	if err == nil {
		t.Error("Flush of a writer that can not flush is no error")
	}
}

func TestInFlightByPointer(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "export", Rate: "1/5m", Strategy: &core.InFlight{}})
	for range 3 {
		if !pass(l, get("192.0.2.1"), 200) {
			t.Error("what has ended still runs")
		}
	}
}

// Requests that a ban refuses say nothing about a candidate, which has none.
func TestCandidateIsNotComparedDuringABan(t *testing.T) {
	c := newClock()
	l := limiter(t, c, core.Policy{Name: "api", Rate: "1/m", Strategy: core.MovingWindow{}, Candidate: &core.Candidate{Rate: "2/m"},
		Ban: &core.Ban{After: 2, Within: time.Hour, For: time.Hour}})
	n := get("192.0.2.1")
	for _, want := range []bool{true, false, false, false} {
		if v := visit(l, n); v.Pass != want {
			t.Fatalf("%+v", v.Decision)
		}
	}
	c.advance(2 * time.Minute)
	visit(l, n)
	if got, err := l.Trial("api"); err != nil || got != (core.Trial{Agreed: 2, NewlyAllowed: 1}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Jitter is a part of the wait, not of the time in which strikes are counted.
func TestJitterOfABan(t *testing.T) {
	l := configured(t, core.Config{Backend: memory.New(), Jitter: true, Policies: []core.Policy{{Name: "api", Rate: "1/d",
		Ban: &core.Ban{After: 1, Within: 300 * 24 * time.Hour, For: 10 * 24 * time.Hour}}}})
	n := get("192.0.2.1")
	visit(l, n)
	for range 20 {
		d := visit(l, n).Decision
		for name, value := range d.Header() {
			if name == "Retry-After" && (len(value) != 6 || value >= "950401") { // 11 days
				t.Fatalf("Retry-After: %s for a ban of ten days", value)
			}
		}
	}
}

func TestWhatCanNotBeIsFoundByNew(t *testing.T) {
	_, err := core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{
		{Name: "a", Rate: "1/m", Candidate: &core.Candidate{Strategy: core.InFlight{}}},
		{Name: "b", Rate: "none", CountIf: core.OnStatus(401), Ban: &core.Ban{After: 1, Within: time.Hour, For: time.Hour, Failures: true}},
	}})
	for _, part := range []string{`"a": Candidate: InFlight`, `"b": Ban: `} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
}
