package core_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/core"
)

// answering refuses by a function.
type answering struct {
	core.Base
	disallowed func(core.Request, core.Decision) core.Response
}

func (a answering) Disallowed(r core.Request, d core.Decision) core.Response {
	return a.disallowed(r, d)
}

func TestRefusalsAsErrors(t *testing.T) {
	c := newClock()
	written := core.Policy{Name: "written", Rate: "0/s", Hooks: answering{disallowed: func(core.Request, core.Decision) core.Response {
		return core.Response{Written: true}
	}}}
	broken := core.Policy{Name: "broken", Rate: "1/s", Key: core.ByFunc("x", func(core.Request) string { panic("x") })}
	for _, tc := range []struct {
		name   string
		policy core.Policy
		errors bool
		want   string
		status int
	}{
		{"refused", core.Policy{Name: "login", Rate: "0/s"}, true, "stint: request refused by policy login", 429},
		{"not decided", broken, true, "stint: request refused: it could not be decided", 500},
		{"allowed", core.Policy{Name: "login", Rate: "1/s"}, true, "", 0},
		{"answered by a hook", written, true, "", 0},
		{"not configured", core.Policy{Name: "login", Rate: "0/s"}, false, "", 0},
	} {
		l := configured(t, core.Config{Policies: []core.Policy{tc.policy}, Now: c.now, ReturnErrors: tc.errors,
			Logger: slog.New(slog.DiscardHandler)})
		err := visit(l, get("192.0.2.1")).Err()
		if (err == nil) != (tc.want == "") {
			t.Errorf("%s: error %v", tc.name, err)
		} else if err != nil && (err.Error() != tc.want || err.Response.Status != tc.status) {
			t.Errorf("%s: %v, status %d", tc.name, err, err.Response.Status)
		}
	}
	if err := new(core.Visit).Err(); err != nil {
		t.Errorf("of no limiter: %v", err)
	}
}

func TestZeroResponseIs429(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "zero", Rate: "0/s", Hooks: answering{disallowed: func(core.Request, core.Decision) core.Response {
		return core.Response{}
	}}})
	if v := visit(l, get("192.0.2.1")); v.Pass || v.Response.Status != 429 {
		t.Errorf("%+v", v.Response)
	}
}

// Also a hook that sends the response itself sends the fields of the decision.
func TestFieldsAreWrittenBeforeDisallowed(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "api", Rate: "0/s", Hooks: answering{disallowed: func(r core.Request, d core.Decision) core.Response {
		w, _ := httplimit.Context(r)
		w.WriteHeader(418)
		return core.Response{Written: true}
	}}})
	w := httptest.NewRecorder()
	httplimit.New(l)(nil).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if got := w.Result().Header["Ratelimit"]; w.Code != 418 || len(got) != 1 || got[0] != `"api";r=0` {
		t.Errorf("status %d, fields %v", w.Code, w.Result().Header)
	}
}

// A request that a hook aborts is not taken for one that is still in flight.
func TestAbortedRequestsAreForgotten(t *testing.T) {
	abort := true
	l := limiter(t, newClock(), core.Policy{Name: "api", Rate: "1/m", Key: core.ByFunc("x", func(core.Request) string {
		if abort {
			panic(http.ErrAbortHandler)
		}
		return "x"
	})})
	h := httplimit.New(l)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	w := httptest.NewRecorder() // its header map is the request's mark, as if memory had been used again
	func() {
		defer func() {
			if p, _ := recover().(error); !errors.Is(p, http.ErrAbortHandler) {
				t.Errorf("panic %v, want net/http's own", p)
			}
		}()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	}()
	abort = false
	if h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil)); w.Header().Get("RateLimit") == "" {
		t.Error("the next request was not counted")
	}
}
