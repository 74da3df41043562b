package core_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// clock is the instant of a test: it moves only when told.
type clock struct{ t time.Time }

func newClock() *clock { return &clock{time.Unix(1_700_000_000, 0)} }

func (c *clock) now() time.Time          { return c.t }
func (c *clock) advance(d time.Duration) { c.t = c.t.Add(d) }

// limiter makes a Limiter over memory, on the clock c.
func limiter(t *testing.T, c *clock, policies ...core.Policy) *core.Limiter {
	t.Helper()
	return configured(t, core.Config{Policies: policies, Now: c.now})
}

func configured(t *testing.T, c core.Config) *core.Limiter {
	t.Helper()
	if c.Backend == nil {
		c.Backend = memory.New()
	}
	l, err := core.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// get is a request from an address.
func get(peer string) core.Native { return request("GET", "/", peer, "") }

func request(method, target, peer, form string) core.Native {
	r := httptest.NewRequest(method, target, strings.NewReader(form))
	r.RemoteAddr = peer + ":4711"
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return httplimit.Request(r)
}

// visit sends n through l and out again.
func visit(l *core.Limiter, n core.Native) *core.Visit {
	v := new(core.Visit)
	l.Enter(n, 0, v)
	v.Leave()
	return v
}

// admitted counts how many of n equal requests pass.
func admitted(l *core.Limiter, n int, make func() core.Native) (passed int) {
	for range n {
		if visit(l, make()).Pass {
			passed++
		}
	}
	return passed
}

func TestEachClientHasItsOwnQuota(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "api", Rate: "3/m", Strategy: core.MovingWindow{}})
	for _, peer := range []string{"192.0.2.1", "192.0.2.2", "[2001:db8::1]"} {
		if got := admitted(l, 5, func() core.Native { return get(peer) }); got != 3 {
			t.Errorf("%s: %d admitted, want 3", peer, got)
		}
	}
}

func TestRefusalTellsWhenAndKeepsItsPromise(t *testing.T) {
	c := newClock()
	l := limiter(t, c, core.Policy{Name: "api", Rate: "2/m", Strategy: core.MovingWindow{}})
	visit(l, get("192.0.2.1"))
	c.advance(10 * time.Second)
	visit(l, get("192.0.2.1"))
	c.advance(10 * time.Second)
	v := visit(l, get("192.0.2.1"))
	if v.Pass || v.Response.Status != 429 {
		t.Fatalf("pass %v, status %d; want a 429", v.Pass, v.Response.Status)
	}
	if d := v.Decision; d.RetryAfter != 40*time.Second || d.Policy != "api" || d.Limit != 2 || d.Remaining != 0 {
		t.Errorf("decision %+v", d)
	}
	c.advance(40*time.Second - time.Microsecond)
	if visit(l, get("192.0.2.1")).Pass {
		t.Error("admitted one microsecond before RetryAfter")
	}
	c.advance(time.Microsecond)
	if !visit(l, get("192.0.2.1")).Pass {
		t.Error("refused at RetryAfter")
	}
}

func TestPoliciesAreAllOrNothing(t *testing.T) {
	l := limiter(t, newClock(),
		core.Policy{Name: "client", Rate: "10/m"},
		core.Policy{Name: "everybody", Rate: "3/m", Key: core.Const("all")},
	)
	if got := admitted(l, 9, func() core.Native { return get("192.0.2.1") }); got != 3 {
		t.Fatalf("%d admitted, want 3", got)
	}
	d, err := l.PeekRequest(get("192.0.2.1"))
	if err != nil {
		t.Fatal(err)
	}
	for e := range d.Entries() {
		want := map[string]int64{"client": 7, "everybody": 0}[e.Policy]
		if e.Remaining != want {
			t.Errorf("%s: %d remaining, want %d: a refused request must cost nothing", e.Policy, e.Remaining, want)
		}
	}
}

func TestTheLongestWaitSpeaks(t *testing.T) {
	l := limiter(t, newClock(),
		core.Policy{Name: "short", Rate: "1/m", Strategy: core.MovingWindow{}},
		core.Policy{Name: "long", Rate: "1/h", Strategy: core.MovingWindow{}},
		core.Policy{Name: "wide", Rate: "100/d", Strategy: core.MovingWindow{}},
	)
	visit(l, get("192.0.2.1"))
	v := visit(l, get("192.0.2.1"))
	if d := v.Decision; d.Policy != "long" || d.RetryAfter != time.Hour {
		t.Errorf("%s speaks with %v, want long with an hour", d.Policy, d.RetryAfter)
	}
	if body := string(v.Response.Body); !strings.Contains(body, `"violated-policies":["short","long"]`) {
		t.Errorf("body %s", body)
	}
}

func TestEachLimitsEveryIdentityAllOrNothing(t *testing.T) {
	l := configured(t, core.Config{
		Policies: []core.Policy{{Name: "api", Rate: "3/m", Key: core.Each(core.ByIP, core.ByUser)}},
		User:     func(r core.Request) string { return r.Header("X-User") },
		Now:      newClock().now,
	})
	as := func(peer, user string) core.Native {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = peer + ":1"
		r.Header.Set("X-User", user)
		return httplimit.Request(r)
	}
	if got := admitted(l, 5, func() core.Native { return as("192.0.2.1", "alice") }); got != 3 {
		t.Fatalf("%d admitted, want 3", got)
	}
	if visit(l, as("192.0.2.2", "alice")).Pass {
		t.Error("alice escaped her quota from another address")
	}
	if visit(l, as("192.0.2.1", "bob")).Pass {
		t.Error("the address escaped its quota under another name")
	}
	if got := admitted(l, 5, func() core.Native { return as("192.0.2.2", "bob") }); got != 3 {
		t.Errorf("%d admitted for bob elsewhere, want 3: refused requests must have cost nothing", got)
	}
}

func TestAnnotateLetsPassAndTells(t *testing.T) {
	l := limiter(t, newClock(),
		core.Policy{Name: "soft", Rate: "1/m", Mode: core.Annotate},
		core.Policy{Name: "hard", Rate: "3/m"},
	)
	for i, want := range []struct{ pass, limited bool }{{true, false}, {true, true}, {true, true}, {false, true}} {
		v := visit(l, get("192.0.2.1"))
		if v.Pass != want.pass || v.Decision.Limited != want.limited {
			t.Errorf("request %d: pass %v, limited %v; want %+v", i+1, v.Pass, v.Decision.Limited, want)
		}
	}
}

func TestCountDeniedKeepsAPersistentClientOut(t *testing.T) {
	for _, counting := range []bool{false, true} {
		c := newClock()
		l := limiter(t, c, core.Policy{Name: "api", Rate: "2/m", Strategy: core.MovingWindow{}, CountDenied: counting})
		admitted(l, 2, func() core.Native { return get("192.0.2.1") })
		passed := 0
		for range 10 {
			c.advance(20 * time.Second)
			passed += admitted(l, 1, func() core.Native { return get("192.0.2.1") })
		}
		if counting && passed != 0 || !counting && passed == 0 {
			t.Errorf("CountDenied %v: %d of 10 steady requests admitted", counting, passed)
		}
		c.advance(time.Minute)
		if !visit(l, get("192.0.2.1")).Pass {
			t.Errorf("CountDenied %v: refused one window after the last request", counting)
		}
	}
}

func TestMethodsAreTheLimitersOwn(t *testing.T) {
	methods := []string{"HEAD", "POST"}
	limiter(t, newClock(), core.Policy{Name: "a", Rate: "1/m", Methods: methods})
	if methods[0] != "HEAD" {
		t.Error("the caller's list was changed")
	}
}

func TestUnsafeIsEveryMethodButTheSafeOnes(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "writes", Rate: "0/s", Methods: core.Unsafe})
	for method, passes := range map[string]bool{"GET": true, "HEAD": true, "OPTIONS": true, "TRACE": true,
		"POST": false, "PUT": false, "PATCH": false, "DELETE": false, "FOO": false, "post": false, "UNSAFE": false} {
		if got := visit(l, request(method, "/", "192.0.2.1", "")).Pass; got != passes {
			t.Errorf("%s: pass %v, want %v", method, got, passes)
		}
	}
}

func TestMethodsAndExceptions(t *testing.T) {
	l := limiter(t, newClock(),
		core.Policy{Name: "writes", Rate: "0/s", Methods: core.Unsafe},
		core.Policy{Name: "reads", Rate: "1/m", Methods: []string{"GET"}},
	)
	if visit(l, request("POST", "/", "192.0.2.1", "")).Pass {
		t.Error("POST passed 0/s")
	}
	if !visit(l, request("OPTIONS", "/", "192.0.2.1", "")).Pass {
		t.Error("OPTIONS concerns no policy and was refused")
	}
	if !visit(l, request("HEAD", "/", "192.0.2.1", "")).Pass || visit(l, get("192.0.2.1")).Pass {
		t.Error("HEAD and GET do not share one quota of 1")
	}
}

func TestRatesByFunction(t *testing.T) {
	broken := errors.New("no plan today")
	l := limiter(t, newClock(), core.Policy{Name: "plan", RateFunc: func(policy string, r core.Request) (core.Rates, error) {
		switch r.Header("X-Plan") {
		case "free":
			return core.ParseRates("1/m")
		case "pro":
			return core.ParseRates("3/m; 100/h")
		case "banned":
			return core.Rates{{}}, nil
		case "broken":
			return nil, broken
		case "wrong":
			return core.ParseRates("1/m; 2/60s")
		}
		return core.Rates{}, nil
	}})
	plan := func(name string) func() core.Native {
		return func() core.Native {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = "192.0.2.1:1"
			r.Header.Set("X-Plan", name)
			return httplimit.Request(r)
		}
	}
	for name, want := range map[string]int{"none": 9, "banned": 0, "broken": 0, "wrong": 0} {
		if got := admitted(l, 9, plan(name)); got != want {
			t.Errorf("%s: %d admitted, want %d", name, got, want)
		}
	}
	if got := admitted(l, 9, plan("pro")); got != 3 {
		t.Errorf("pro: %d admitted, want 3", got)
	}
	if got := admitted(l, 9, plan("free")); got != 0 {
		t.Errorf("free after pro: %d admitted: a changed limit keeps what is consumed", got)
	}
	if v := visit(l, plan("broken")()); v.Response.Status != 503 {
		t.Errorf("an error of the rate function answered %d, want 503", v.Response.Status)
	}
	if _, err := l.PeekRequest(plan("broken")()); !errors.Is(err, broken) {
		t.Errorf("error %v, want the function's own", err)
	}
}

func TestMissingValues(t *testing.T) {
	for _, tc := range []struct {
		name     string
		missing  core.Missing
		admitted [3]int // of 4 requests each: without the header from two clients, then with it
	}{
		{"the client's address instead", core.MissingIP, [3]int{2, 2, 2}},
		{"shared", core.MissingShare, [3]int{2, 0, 2}},
		{"skipped", core.MissingSkip, [3]int{4, 4, 2}},
		{"refused", core.MissingRefuse, [3]int{0, 0, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := limiter(t, newClock(), core.Policy{Name: "api", Rate: "2/m", By: "header:X-Api-Key", Missing: tc.missing})
			got := [3]int{
				admitted(l, 4, func() core.Native { return get("192.0.2.1") }),
				admitted(l, 4, func() core.Native { return get("192.0.2.2") }),
				admitted(l, 4, func() core.Native {
					r := httptest.NewRequest("GET", "/", nil)
					r.Header.Set("X-Api-Key", "192.0.2.1")
					return httplimit.Request(r)
				}),
			}
			if got != tc.admitted {
				t.Errorf("admitted %v, want %v", got, tc.admitted)
			}
		})
	}
}

func TestOneRequestIsDecidedOncePerLimiter(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "api", Rate: "2/m"})
	for range 2 {
		var group, route core.Visit
		l.Enter(get("192.0.2.1"), 42, &group)
		l.Enter(get("192.0.2.1"), 42, &route)
		if group.Again || !route.Again {
			t.Fatal("the second meeting does not say so")
		}
		if !group.Pass || !route.Pass {
			t.Fatal("the second meeting was charged")
		}
		route.Leave()
		group.Leave()
	}
	if visit(l, get("192.0.2.1")).Pass {
		t.Error("the next request was not counted as a new one")
	}
}

func TestAllowPeekReset(t *testing.T) {
	ctx := context.Background()
	l := limiter(t, newClock(), core.Policy{Name: "mail", Rate: "10/d; 3/h"})
	key := core.NewKey("user", "alice")
	for i, want := range []bool{true, false, true} {
		cost := []int64{2, 2, 1}[i]
		d, err := l.Allow(ctx, "mail", key, cost)
		if err != nil || d.Allowed != want {
			t.Fatalf("step %d: allowed %v, error %v; want %v", i, d.Allowed, err, want)
		}
		if p, _ := l.Peek(ctx, "mail", key, 0); p.Remaining != d.Remaining {
			t.Errorf("step %d: peek says %d remaining, the decision %d", i, p.Remaining, d.Remaining)
		}
	}
	if d, _ := l.Peek(ctx, "mail", key, 1); d.Allowed {
		t.Error("peek admits what Allow would refuse")
	}
	if err := l.Reset(ctx, "mail", key); err != nil {
		t.Fatal(err)
	}
	if d, _ := l.Allow(ctx, "mail", key, 3); !d.Allowed {
		t.Error("refused after Reset")
	}
	if _, err := l.Allow(ctx, "post", key, 1); err == nil || !strings.Contains(err.Error(), "post") {
		t.Errorf("unknown policy: error %v", err)
	}
	if _, err := l.Allow(ctx, "mail", key, -1); err == nil {
		t.Error("a negative cost was taken")
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if d, err := l.Allow(done, "mail", key, 0); !errors.Is(err, context.Canceled) || d.Allowed {
		t.Errorf("cancelled context: %v, %v", d.Allowed, err)
	}
}

func TestDisabledAdmitsEverything(t *testing.T) {
	l := configured(t, core.Config{Policies: []core.Policy{{Name: "api", Rate: "0/s"}}, Disabled: true})
	if v := visit(l, get("192.0.2.1")); !v.Pass || !v.Decision.Allowed {
		t.Error("refused although disabled")
	}
	if d, err := l.Allow(context.Background(), "api", core.NewKey("k", "v"), 1); !d.Allowed || err != nil {
		t.Errorf("Allow: %v, %v", d.Allowed, err)
	}
}
