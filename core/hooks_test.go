package core_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// loginGuard is the ancestor's example: POSTs are counted by address and by the
// user name that they try, and every denial is written down.
type loginGuard struct {
	core.Base
	field string
	audit *[]string
}

func (g loginGuard) ShouldLimit(r core.Request) bool {
	return r.Method() == "POST" && g.Base.ShouldLimit(r)
}

func (g loginGuard) KeyExtra(r core.Request, key core.Key) core.Key {
	return g.Base.KeyExtra(r, key).With(g.field, r.Form(g.field))
}

func (g loginGuard) Disallowed(r core.Request, d core.Decision) core.Response {
	*g.audit = append(*g.audit, r.IP().String()+" "+r.Form(g.field))
	return g.Base.Disallowed(r, d)
}

// strictGuard overrides the guard once more: two levels, as in a class hierarchy.
type strictGuard struct{ loginGuard }

func (g strictGuard) ShouldLimit(r core.Request) bool {
	return r.Header("X-Trusted") == "" && g.loginGuard.ShouldLimit(r)
}

func (g strictGuard) Disallowed(r core.Request, d core.Decision) core.Response {
	resp := g.loginGuard.Disallowed(r, d)
	resp.Status = 418
	return resp
}

func login(user string) func() core.Native {
	return func() core.Native { return request("POST", "/login", "192.0.2.1", "username="+user) }
}

func TestLoginGuard(t *testing.T) {
	var audit []string
	l := limiter(t, newClock(), core.Policy{Name: "login", Rate: "2/m", Hooks: loginGuard{field: "username", audit: &audit}})
	if got := admitted(l, 3, login("alice")); got != 2 {
		t.Errorf("alice: %d admitted, want 2", got)
	}
	if got := admitted(l, 3, login("bob")); got != 2 {
		t.Errorf("bob: %d admitted, want 2", got)
	}
	if got := admitted(l, 9, func() core.Native { return get("192.0.2.1") }); got != 9 {
		t.Errorf("GET: %d of 9 admitted: the guard counts POSTs only", got)
	}
	if want := []string{"192.0.2.1 alice", "192.0.2.1 bob"}; !slices.Equal(audit, want) {
		t.Errorf("audit %q, want %q", audit, want)
	}
}

func TestHooksOverrideOverTwoLevels(t *testing.T) {
	var audit []string
	l := limiter(t, newClock(), core.Policy{Name: "login", Rate: "1/m", Hooks: strictGuard{loginGuard{field: "username", audit: &audit}}})
	visit(l, login("alice")())
	if v := visit(l, login("alice")()); v.Response.Status != 418 || len(audit) != 1 {
		t.Errorf("status %d, audit %q; want 418 and one row", v.Response.Status, audit)
	}
	if !strings.Contains(string(visit(l, login("alice")()).Response.Body), "quota-exceeded") {
		t.Error("the innermost Disallowed was not reached through both levels")
	}
}

type observer struct {
	core.Base
	seen *[]string
	name string
	cost int64
}

func (o observer) Denied(r core.Request, d core.Decision) { *o.seen = append(*o.seen, o.name) }
func (o observer) Cost(core.Request) int64                { return o.cost }

func TestObserversHearOfEveryDenial(t *testing.T) {
	var seen []string
	hook := func(name string) core.Hooks { return observer{seen: &seen, name: name, cost: 1} }
	l := limiter(t, newClock(),
		core.Policy{Name: "a", Rate: "0/s; 0/m", Hooks: hook("a")},
		core.Policy{Name: "b", Rate: "9/m", Hooks: hook("b")},
		core.Policy{Name: "c", Rate: "0/s", Hooks: hook("c"), Mode: core.Annotate},
	)
	visit(l, get("192.0.2.1"))
	if want := []string{"a", "c"}; !slices.Equal(seen, want) {
		t.Errorf("told %q, want %q: once per policy that refused", seen, want)
	}
}

func TestCostPerRequest(t *testing.T) {
	var seen []string
	for cost, want := range map[int64]int{0: 9, 1: 5, 2: 2, 5: 1, 6: 0, -1: 0} {
		l := limiter(t, newClock(), core.Policy{Name: "a", Rate: "5/m", Hooks: observer{seen: &seen, cost: cost}})
		if got := admitted(l, 9, func() core.Native { return get("192.0.2.1") }); got != want {
			t.Errorf("cost %d: %d admitted, want %d", cost, got, want)
		}
	}
}

func TestDisallowedForAllPolicies(t *testing.T) {
	l := configured(t, core.Config{
		Policies: []core.Policy{
			{Name: "plain", Rate: "0/s", Methods: []string{"GET"}},
			{Name: "hooked", Rate: "0/s", Methods: []string{"POST"}, Hooks: loginGuard{field: "u", audit: new([]string)}},
		},
		Disallowed: func(r core.Request, d core.Decision) core.Response {
			resp := core.Base{}.Disallowed(r, d) // the standard answer, not this function again
			resp.Header = http.Header{"X-Policy": {d.Policy}}
			return resp
		},
	})
	for method, policy := range map[string]string{"GET": "plain", "POST": "hooked"} {
		v := visit(l, request(method, "/", "192.0.2.1", "u=x"))
		if v.Response.Header["X-Policy"][0] != policy || v.Response.Status != 429 {
			t.Errorf("%s: %+v", method, v.Response)
		}
	}
}

type panicker struct {
	core.Base
	where string
}

func (p panicker) ShouldLimit(core.Request) bool { p.maybe("should"); return true }
func (p panicker) KeyExtra(_ core.Request, k core.Key) core.Key {
	p.maybe("extra")
	return k
}
func (p panicker) Disallowed(r core.Request, d core.Decision) core.Response {
	p.maybe("disallowed")
	return p.Base.Disallowed(r, d)
}

func (p panicker) maybe(where string) {
	if p.where == where {
		panic("hook on fire")
	}
}

func TestAHookThatPanicsRefusesAndIsLoggedOnce(t *testing.T) {
	for _, where := range []string{"should", "extra", "disallowed"} {
		var log bytes.Buffer
		l, err := core.New(core.Config{
			Backend:  memory.New(),
			Policies: []core.Policy{{Name: "a", Rate: "0/s", Hooks: panicker{where: where}}},
			Logger:   slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if v := visit(l, get("192.0.2.1")); v.Pass || v.Response.Status != 500 {
				t.Errorf("%s: pass %v, status %d; want 500", where, v.Pass, v.Response.Status)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "hook on fire") {
			t.Errorf("%s: %d lines logged, want one:\n%s", where, n, log.String())
		}
	}
}

type abort struct{}

func (abort) Error() string { return "net/http: abort Handler" }

type aborter struct{ core.Base }

func (aborter) ShouldLimit(core.Request) bool { panic(abort{}) }

func TestTheAbortOfNetHTTPIsPassedOn(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "a", Rate: "1/s", Hooks: aborter{}})
	defer func() {
		if _, ok := recover().(abort); !ok {
			t.Error("the abort was swallowed")
		}
	}()
	visit(l, get("192.0.2.1"))
}
