package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// logged makes a Limiter whose log is returned.
func logged(t *testing.T, policies ...core.Policy) (*core.Limiter, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	l, err := core.New(core.Config{Backend: memory.New(), Policies: policies, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return l, &log
}

func TestComplaintsComeOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, log := logged(t, core.Policy{Name: "a", Rate: "1/s", Hooks: panicker{where: "should"}})
		for range 4 {
			for range 3 {
				visit(l, get("192.0.2.1"))
			}
			time.Sleep(31 * time.Second)
		}
		if n := strings.Count(log.String(), "\n"); n != 2 {
			t.Errorf("%d lines in two minutes, want 2:\n%s", n, log)
		}
		if !strings.Contains(log.String(), "ShouldLimit") {
			t.Errorf("no stack in\n%s", log)
		}
	})
}

func TestAnUnknownAddressIsRefusedAndLogged(t *testing.T) {
	l, log := logged(t, core.Policy{Name: "a", Rate: "1/s"})
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "@"
	if v := visit(l, httplimit.Request(r)); v.Pass || v.Response.Status != 400 {
		t.Errorf("pass %v, status %d", v.Pass, v.Response.Status)
	}
	if !strings.Contains(log.String(), "set Config.Client") {
		t.Errorf("no remedy in the log: %q", log)
	}
}

// nobody panics when asked for its text.
type nobody struct{ text *string }

func (n *nobody) Error() string { return *n.text }

type nilPanicker struct{ core.Base }

func (nilPanicker) ShouldLimit(core.Request) bool { panic((*nobody)(nil)) }

func TestAPanicThatCanNotBeReadIsAPanic(t *testing.T) {
	l, log := logged(t, core.Policy{Name: "a", Rate: "1/s", Hooks: nilPanicker{}})
	if v := visit(l, get("192.0.2.1")); v.Pass || v.Response.Status != 500 || log.Len() == 0 {
		t.Errorf("pass %v, status %d, log %q", v.Pass, v.Response.Status, log)
	}
}

type answerer struct {
	core.Base
	status int
}

func (a answerer) Disallowed(core.Request, core.Decision) core.Response {
	return core.Response{Status: a.status}
}

func TestAnImpossibleStatusIsAFailureOfTheHook(t *testing.T) {
	for status, want := range map[int]int{0: 429, 403: 403, 599: 599, 42: 500, 600: 500, -1: 500} {
		l, _ := logged(t, core.Policy{Name: "a", Rate: "0/s", Hooks: answerer{status: status}})
		if got := visit(l, get("192.0.2.1")).Response.Status; got != want {
			t.Errorf("status %d became %d, want %d", status, got, want)
		}
	}
}

func TestNilRatesAreNoUnlimitedRates(t *testing.T) {
	l, log := logged(t, core.Policy{Name: "plan", RateFunc: func(string, core.Request) (core.Rates, error) {
		return map[string]core.Rates{}["nobody"], nil
	}})
	if v := visit(l, get("192.0.2.1")); v.Pass || v.Response.Status != 500 || !strings.Contains(log.String(), "core.Rates{}") {
		t.Errorf("pass %v, status %d, log %q", v.Pass, v.Response.Status, log)
	}
	if err := l.Reset(t.Context(), "plan", core.Key{}); err == nil {
		t.Error("Reset took nil rates")
	}
}

func TestRefusalsAreTheCallersToChange(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "a", Rate: "0/s", Hooks: panicker{where: "nowhere"}})
	first := visit(l, get("192.0.2.1")).Response.Body
	want := string(first)
	_ = append(first[:0], "another client's name"...)
	if got := string(visit(l, get("192.0.2.1")).Response.Body); got != want {
		t.Errorf("the next client gets %q", got)
	}
}

func TestARequestThatHasEndedIsNotCharged(t *testing.T) {
	for _, rate := range []string{"5/m", "5/m; 9/h"} {
		l := limiter(t, newClock(), core.Policy{Name: "a", Rate: rate})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r := httptest.NewRequest("GET", "/", nil).WithContext(ctx)
		if _, err := l.AllowRequest(httplimit.Request(r)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", rate, err)
		}
		key := core.NewKey("k", "v")
		if _, err := l.Allow(ctx, "a", key, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: Allow: error %v", rate, err)
		}
		if d, _ := l.Peek(t.Context(), "a", key, 0); d.Remaining != 5 {
			t.Errorf("%s: %d remaining", rate, d.Remaining)
		}
	}
}

// A client that has gone when its request is decided pays all the same: hanging up
// must be no way to try without being counted, nor to make a store look broken.
func TestWhoHangsUpIsCharged(t *testing.T) {
	f := newFaulty() // a store outside the process, which looks at the context
	l := configured(t, core.Config{Backend: f, Policies: []core.Policy{ten("a", core.Fallback)}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 12 {
		v := visit(l, httplimit.Request(httptest.NewRequest("GET", "/", nil).WithContext(ctx)))
		if v.Pass != (i < 10) || v.Decision.Degraded {
			t.Errorf("request %d: pass %v, degraded %v", i, v.Pass, v.Decision.Degraded)
		}
	}
}

// down is a backend that can not decide some policies' asks.
type down struct {
	core.Backend
	policy string
}

func (b down) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	now, err := b.Backend.Take(ctx, at, asks, out)
	for i, a := range asks {
		if a.Cell.Space.Policy() == b.policy {
			out[i] = core.Verdict{Err: fmt.Errorf("no answer: %w", core.ErrUnavailable)}
		}
	}
	return now, err
}

func TestAnOutageAnnotatesNothing(t *testing.T) {
	var log bytes.Buffer
	l, err := core.New(core.Config{
		Backend:  down{memory.New(), "soft"},
		Policies: []core.Policy{{Name: "soft", Rate: "1/m", Mode: core.Annotate}, {Name: "hard", Rate: "9/m"}},
		Logger:   slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	v := visit(l, get("192.0.2.1"))
	if !v.Pass || v.Decision.Limited || !strings.Contains(log.String(), "policy=soft") {
		t.Errorf("pass %v, limited %v, log %q", v.Pass, v.Decision.Limited, log.String())
	}
	for e := range v.Decision.Entries() {
		if broken := errors.Is(e.Err, core.ErrUnavailable); broken != (e.Policy == "soft") {
			t.Errorf("%s: error %v", e.Policy, e.Err)
		}
	}
}
