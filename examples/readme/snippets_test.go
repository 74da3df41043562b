package readme

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	ginlimit "github.com/stint-go/stint/adapters/gin"
	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

var ok = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

func user(r core.Request) string { return r.Header("X-User") }

func TestThePoliciesShownAreValid(t *testing.T) {
	for _, policies := range [][]core.Policy{strategies, keys, {{Name: "plans", RateFunc: plan}}} {
		if _, err := core.New(core.Config{Backend: memory.New(), Policies: policies, User: user}); err != nil {
			t.Error(err)
		}
	}
	gin.SetMode(gin.TestMode)
	if err := configured(gin.New(), func(*gin.Context) {}, user); err != nil {
		t.Error(err)
	}
}

func TestRates(t *testing.T) {
	want := []string{"100/m", "100/5m", "5/10s", "10/s; 1000/d", "240/h@1m", "0/s", "none", "1/30d; 3/365d"}
	for i, text := range rates {
		if got, err := core.ParseRates(text); err != nil || got.String() != want[i] {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// Whose limit is used up by requests that differ in address and fields?
func TestClients(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	for name, c := range map[string]struct {
		proxies       []netip.Prefix
		peer, forward [2]string
		same          bool
	}{
		"two addresses":                {nil, [2]string{"192.0.2.1:1", "192.0.2.2:1"}, [2]string{}, false},
		"a forged field":               {nil, [2]string{"192.0.2.1:1", "192.0.2.1:1"}, [2]string{"198.51.100.1", "198.51.100.2"}, true},
		"a proxy nobody named":         {nil, [2]string{"10.1.0.7:1", "10.1.0.7:1"}, [2]string{"198.51.100.1", "198.51.100.2"}, true},
		"behind a named proxy":         {proxies, [2]string{"10.1.0.7:1", "10.1.0.7:1"}, [2]string{"198.51.100.1", "198.51.100.2"}, false},
		"two proxies, one client":      {proxies, [2]string{"10.1.0.7:1", "10.1.0.8:1"}, [2]string{"198.51.100.1", "198.51.100.1"}, true},
		"forged to the left of it":     {proxies, [2]string{"10.1.0.7:1", "10.1.0.7:1"}, [2]string{"6.6.6.6, 198.51.100.1", "7.7.7.7, 198.51.100.1"}, true},
		"forged around a named proxy":  {proxies, [2]string{"192.0.2.1:1", "192.0.2.1:1"}, [2]string{"198.51.100.1", "198.51.100.2"}, true},
		"one IPv6 network":             {nil, [2]string{"[2001:db8::1]:1", "[2001:db8::2:2]:1"}, [2]string{}, true},
		"two IPv6 networks":            {nil, [2]string{"[2001:db8:0:1::1]:1", "[2001:db8:0:2::1]:1"}, [2]string{}, false},
		"one address in two spellings": {nil, [2]string{"192.0.2.1:1", "[::ffff:192.0.2.1]:1"}, [2]string{}, true},
	} {
		l, err := core.New(core.Config{Backend: memory.New(), Proxies: c.proxies, Policies: []core.Policy{{Name: "one", Rate: "1/d"}}})
		if err != nil {
			t.Fatal(err)
		}
		h, status := httplimit.New(l)(ok), 0
		for i := range 2 {
			r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
			if r.RemoteAddr = c.peer[i]; c.forward[i] != "" {
				r.Header.Set("X-Forwarded-For", c.forward[i])
			}
			h.ServeHTTP(w, r)
			status = w.Code
		}
		if (status == 429) != c.same {
			t.Errorf("%s: the second was answered %d", name, status)
		}
	}
}

func TestDisabled(t *testing.T) {
	send := serve(t, core.Config{Policies: []core.Policy{{Name: "closed", Rate: "0/s"}}, Disabled: true})
	if w := send("GET", "/", ""); w.Code != 200 || w.Header().Get("Ratelimit") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// serve answers what a limiter of these settings makes of a request.
func serve(t *testing.T, c core.Config) func(method, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	c.Backend, c.Now = memory.New(), func() time.Time { return time.Unix(1_700_000_000, 0) }
	l, err := core.New(c)
	if err != nil {
		t.Fatal(err)
	}
	h := httplimit.New(l)(ok)
	return func(method, path, body string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}

func TestKeys(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct {
		policy int // of keys
		n      int // its limit
		fill   [4]string
		other  [4]string // counted together with fill where together is set
		both   bool
	}{
		{2, 5, [4]string{"/", "username=Bob", "Content-Type", form}, [4]string{"/", "username=bob+", "Content-Type", form}, true},
		{2, 5, [4]string{"/", "username=bob", "Content-Type", form}, [4]string{"/", "username=ann", "Content-Type", form}, false},
		{3, 3, [4]string{"/", `{"email":"a@b"}`, "Content-Type", "application/json"}, [4]string{"/", `{"email":"c@d"}`, "Content-Type", "application/json"}, true},
		{4, 10, [4]string{"/", "", "X-Api-Key", "one"}, [4]string{"/", "", "X-Api-Key", "two"}, false},
		{0, 100, [4]string{"/", "", "X-User", "ann"}, [4]string{"/", "", "X-User", "bob"}, false},
	} {
		send := serve(t, core.Config{Policies: keys[c.policy : c.policy+1], User: user})
		for range c.n {
			if w := send("POST", c.fill[0], c.fill[1], c.fill[2:]...); w.Code != 200 {
				t.Fatalf("%s: %d below the limit", keys[c.policy].Name, w.Code)
			}
		}
		if w := send("POST", c.other[0], c.other[1], c.other[2:]...); (w.Code == 429) != c.both {
			t.Errorf("%s: %v after %v: %d", keys[c.policy].Name, c.other, c.fill, w.Code)
		}
	}
	send := serve(t, core.Config{Policies: keys[4:5]})
	if w := send("GET", "/", ""); w.Code != 429 || w.Header().Get("Retry-After") != "" {
		t.Errorf("without an API key: %d, %v", w.Code, w.Header())
	}
}

func TestPlans(t *testing.T) {
	send := serve(t, core.Config{Policies: []core.Policy{{Name: "plans", Key: core.ByUserOrIP, RateFunc: plan}}, User: user})
	for i := range 20 {
		if w := send("GET", "/", "", "X-User", "carol"); w.Code != 200 {
			t.Fatalf("carol: %d", w.Code)
		}
		if w := send("GET", "/", "", "X-User", "dave"); (w.Code == 200) != (i < 10) {
			t.Fatalf("dave, request %d: %d", i+1, w.Code)
		}
	}
}

func TestBrief(t *testing.T) {
	send := serve(t, core.Config{Policies: []core.Policy{{Name: "closed", Rate: "0/s"}}, Disallowed: brief})
	if w := send("GET", "/", ""); w.Code != 429 || w.Body.String() != "slow down\n" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

// What can not be decided, or not be read, is never let through.
func TestFailures(t *testing.T) {
	broken := func(string, core.Request) (core.Rates, error) { return nil, errors.New("no such plan") }
	email := core.Policy{Name: "email", Rate: "5/m", Key: core.ByJSON("email")}
	for name, c := range map[string]struct {
		policy core.Policy
		body   string
		status int
	}{
		"a rate function fails": {core.Policy{Name: "plan", RateFunc: broken}, "", 503},
		"a hook panics":         {core.Policy{Name: "hook", Rate: "5/m", Hooks: panicking{}}, "", 500},
		"a body is too large":   {email, `{"email":"` + strings.Repeat("a", 64<<10) + `"}`, 413},
		"a body is broken":      {email, `{"email":`, 400},
	} {
		send := serve(t, core.Config{Policies: []core.Policy{c.policy}, Logger: slog.New(slog.DiscardHandler)})
		if w := send("POST", "/", c.body, "Content-Type", "application/json"); w.Code != c.status {
			t.Errorf("%s: %d, want %d", name, w.Code, c.status)
		}
	}
}

type panicking struct{ core.Base }

func (panicking) ShouldLimit(core.Request) bool { panic("no") }

func TestHeaders(t *testing.T) {
	policies := []core.Policy{{Name: "one", Rate: "1/m"}}
	for h, want := range map[core.Headers][]string{
		0:                  {"Ratelimit", "Ratelimit-Policy", "Retry-After"},
		core.HeadersLegacy: {"Retry-After", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
		core.HeadersDraft10 | core.HeadersLegacy: {"Ratelimit", "Ratelimit-Policy", "Retry-After",
			"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
		core.HeadersNone: {"Retry-After"},
	} {
		send := serve(t, core.Config{Policies: policies, Headers: h})
		send("GET", "/", "")
		got := send("GET", "/", "").Header()
		got.Del("Content-Type")
		got.Del("Content-Length")
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
			t.Errorf("Headers %d: %q, want %q", h, names, want)
		}
	}
}

func TestAHandlerForgetsFailedLogins(t *testing.T) {
	l, err := core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{{Name: "login", Rate: "2/d"}}})
	if err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.TestMode)
	r := gin.New()
	r.POST("/login", ginlimit.New(l), func(c *gin.Context) {
		if c.Query("password") == "right" {
			if err := l.ResetRequest(ginlimit.Request(c)); err != nil {
				t.Error(err)
			}
		}
	})
	for i, step := range []struct {
		password string
		status   int
	}{{"wrong", 200}, {"right", 200}, {"wrong", 200}, {"wrong", 200}, {"right", 429}} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest("POST", "/login?password="+step.password, nil))
		if w.Code != step.status {
			t.Errorf("login %d: %d, want %d", i+1, w.Code, step.status)
		}
	}
}

func TestALimiterMetTwiceDecidesOnce(t *testing.T) {
	l, err := core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{{Name: "all", Rate: "2/d"}}})
	if err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.TestMode)
	r := gin.New()
	r.Use(ginlimit.New(l))
	r.GET("/", ginlimit.New(l), func(*gin.Context) {})
	for i, status := range []int{200, 200, 429} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != status {
			t.Errorf("request %d: %d, want %d", i+1, w.Code, status)
		}
	}
}

// region testing

func TestLoginIsLimited(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	l, err := core.New(core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "login", Rate: "5/15m"}},
		Now:      func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	app := httplimit.New(l)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	status := func() int {
		w := httptest.NewRecorder()
		app.ServeHTTP(w, httptest.NewRequest("POST", "/login", nil))
		return w.Code
	}
	for range 5 {
		if got := status(); got != 200 {
			t.Fatal(got)
		}
	}
	if got := status(); got != 429 {
		t.Error("the sixth:", got)
	}
	now = now.Add(30 * time.Minute)
	if got := status(); got != 200 {
		t.Error("much later:", got)
	}
}

// endregion

func Example_outside() {
	l, err := core.New(core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "mail", Rate: "3/h", Key: core.ByUser}},
		User:     user,
		Now:      func() time.Time { return time.Unix(1_700_000_000, 0) },
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()

	// region outside
	bob := core.KeyOf(core.KindUser, "", "bob") // the same key as ByUser's
	for range 4 {
		d, err := l.Allow(ctx, "mail", bob, 1)
		fmt.Println(d.Allowed, d.Remaining, err) // true 2, true 1, true 0, false 0
	}
	d, err := l.Peek(ctx, "mail", bob, 1) // what Allow would answer; charges nothing
	fmt.Println(d.Allowed, err)           // false
	err = l.Reset(ctx, "mail", bob)       // all is forgotten
	fmt.Println(err)
	d, err = l.Peek(ctx, "mail", bob, 0) // cost 0: how things stand
	fmt.Println(d.Remaining, err)        // 3
	// endregion

	// Output:
	// true 2 <nil>
	// true 1 <nil>
	// true 0 <nil>
	// false 0 <nil>
	// false <nil>
	// <nil>
	// 3 <nil>
}

func Example_gate() {
	l, err := core.New(core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "calls", Rate: "2/h"}},
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()

	// region gate
	calls, err := l.Gate("calls", "tenant") // once, when the program starts
	if err != nil {
		panic(err)
	}
	for range 3 {
		ok, err := calls.Admit(ctx, "acme", 1) // the counter of core.NewKey("tenant", "acme")
		fmt.Println(ok, err)                   // true, true, false
	}
	// endregion

	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
}

func Example_together() {
	// region together
	l, err := core.New(core.Config{
		Backend: memory.New(),
		Policies: []core.Policy{
			{Name: "hour", Rate: "10/h"},
			{Name: "upload", Rate: "2/m", Strategy: core.MovingWindow{}},
		},
	})
	// endregion
	if err != nil {
		panic(err)
	}
	h := httplimit.New(l)(ok)
	for range 3 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("PUT", "/", nil))
		limit, _, _ := strings.Cut(w.Header().Get("Ratelimit"), ";t")
		fmt.Println(w.Code, limit)
	}
	// Output:
	// 200 "hour";r=9
	// 200 "hour";r=8
	// 429 "hour";r=8
}
