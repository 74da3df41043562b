package core_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// Three at once and one every twenty seconds, for each key.
func Example() {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	l, err := core.New(core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "mail", Rate: "3/m", Strategy: core.GCRA{}}},
		Now:      func() time.Time { return now }, // leave it out for the real time
	})
	if err != nil {
		panic(err)
	}
	bob := core.NewKey("user", "bob")
	for range 4 {
		d, err := l.Allow(context.Background(), "mail", bob, 1)
		fmt.Println(d.Allowed, d.Remaining, d.RetryAfter, err)
	}
	now = now.Add(20 * time.Second)
	d, err := l.Allow(context.Background(), "mail", bob, 1)
	fmt.Println(d.Allowed, d.Remaining, d.RetryAfter, err)
	// Output:
	// true 2 0s <nil>
	// true 1 0s <nil>
	// true 0 0s <nil>
	// false 0 20s <nil>
	// true 0 0s <nil>
}

// Everything that is wrong with a configuration is in one error.
func ExampleNew() {
	_, err := core.New(core.Config{Policies: []core.Policy{
		{Name: "log in", Rate: "5/15m"},
		{Name: "api", Rate: "100/m; 10/60s"},
	}})
	fmt.Println(err)
	// Output:
	// stint: no backend: set Config.Backend, for example to memory.New()
	// stint: policy "log in": character ' ' in the name: use letters, digits, - and _
	// stint: policy "api": rate "100/m; 10/60s": same window as an earlier rate at "10/60s" (byte 7); write for example "10/s; 1000/d"
}

// What is probably not as it was meant, printed when the program starts.
func ExampleLimiter_Doctor() {
	l, err := core.New(core.Config{
		Backend:  memory.New(),
		Proxies:  []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")},
		Policies: []core.Policy{{Name: "login", Rate: "5/15m", Key: core.ByForm("username")}},
	})
	if err != nil {
		panic(err)
	}
	findings, err := l.Doctor(context.Background())
	for _, f := range findings {
		fmt.Println(f)
	}
	fmt.Println(err)
	// Output:
	// proxies-too-wide: Config.Proxies trusts 0.0.0.0/0, which holds public addresses by the million: any client among them can claim any address. Name the prefixes of your own proxies, or those that your provider publishes
	// key-chosen-by-client: policy login: it counts by post:username alone, which the client chooses: a new value is a new limit, and another's value uses up another's limit. Add a policy by ByIP to this Limiter, or count by Each(ByIP, …)
	// <nil>
}

// A postGuard limits POSTs by client and by the user name that they try.
type postGuard struct{ core.Base }

func (g postGuard) ShouldLimit(r core.Request) bool {
	return r.Method() == "POST" && g.Base.ShouldLimit(r)
}

func (g postGuard) KeyExtra(r core.Request, key core.Key) core.Key {
	return g.Base.KeyExtra(r, key).With("username", r.Query("username"))
}

func ExampleHooks() {
	l, err := core.New(core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "login", Rate: "1/d", Hooks: postGuard{}}},
	})
	if err != nil {
		panic(err)
	}
	h := httplimit.New(l)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, request := range []string{"POST /?username=bob", "POST /?username=bob", "POST /?username=ann", "GET /?username=bob"} {
		var method, target string
		fmt.Sscan(request, &method, &target)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
		fmt.Println(request, w.Code)
	}
	// Output:
	// POST /?username=bob 200
	// POST /?username=bob 429
	// POST /?username=ann 200
	// GET /?username=bob 200
}
