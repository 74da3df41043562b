package core_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// sample is how many requests a Limiter looks at.
const sample = 1000

// seen is a scene of requests, in which one thing is wrong.
type seen struct {
	config func(*core.Config)
	send   func(l *core.Limiter) // what shows it, before half of the sample is over
	fill   func() core.Native    // the rest of the sample
}

func visitor(peer string, fields ...string) func() core.Native {
	return from("GET", "/", peer, fields...)
}

func from(method, target, peer string, fields ...string) func() core.Native {
	return func() core.Native {
		r := httptest.NewRequest(method, target, nil)
		r.RemoteAddr = peer + ":4711"
		for i := 0; i < len(fields); i += 2 {
			r.Header.Add(fields[i], fields[i+1])
		}
		return httplimit.Request(r)
	}
}

// on is a request that the router has matched.
func on(method, route string) func() core.Native {
	return func() core.Native {
		r := httptest.NewRequest(method, "/", nil)
		r.Pattern = route
		return httplimit.Request(r)
	}
}

func handle(l ...*core.Limiter) {
	var h http.Handler = http.NotFoundHandler()
	for _, l := range slices.Backward(l) {
		h = httplimit.New(l)(h)
	}
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
}

func proxied(header string) func(*core.Config) {
	return func(c *core.Config) { c.Proxies, c.ProxyHeader = prefixes("10.0.0.0/8"), header }
}

func byUser(c *core.Config) {
	c.User = func(r core.Request) string { return r.Header("User") }
	c.Policies = []core.Policy{{Name: "user", Rate: "100000/m", Key: core.ByUserOrIP}}
}

var scenes = map[string]seen{
	"proxy-not-named": {
		send: func(l *core.Limiter) { visit(l, visitor("10.0.0.1", "X-Forwarded-For", "192.0.2.7")()) },
	},
	"few-private-peers":     {fill: visitor("127.0.0.1")},
	"proxies-never-met":     {config: proxied(""), fill: visitor("172.16.0.1", "X-Forwarded-For", "192.0.2.7")},
	"proxy-header-missing":  {config: proxied("X-Real-IP"), fill: visitor("10.0.0.1", "X-Forwarded-For", "192.0.2.7")},
	"proxy-header-repeated": {config: proxied("X-Real-IP"), fill: visitor("10.0.0.1", "X-Real-IP", "192.0.2.7", "X-Real-IP", "192.0.2.8")},
	"route-unknown": {config: func(c *core.Config) {
		c.Policies = []core.Policy{{Name: "route", Rate: "100000/m", Key: core.Join(core.ByIP, core.ByRoute)}}
	}},
	"never-applies":    {config: func(c *core.Config) { c.Policies[0].Methods = []string{"POST"} }, fill: on("GET", "GET /login")},
	"user-never-known": {config: byUser},
	"value-mostly-missing": {
		config: func(c *core.Config) { c.Policies[0].Key = core.Join(core.ByIP, core.ByHeader("X-Api-Kye")) },
		send:   func(l *core.Limiter) { visit(l, visitor("192.0.2.1", "X-Api-Kye", "k")()) },
	},
	"mounted-twice": {send: func(l *core.Limiter) { handle(l, l) }},
	"counted-twice": {
		config: func(c *core.Config) { c.Backend = shared },
		send: func(l *core.Limiter) {
			twin, err := core.New(core.Config{Backend: shared, Policies: []core.Policy{{Name: "api", Rate: "7/m"}}})
			if err != nil {
				panic(err)
			}
			handle(twin, l)
		},
	},
	"made-per-request": {
		config: func(c *core.Config) { c.Policies[0].Name = "made" },
		send: func(l *core.Limiter) {
			for range 49 {
				handle(must(core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{{Name: "made", Rate: "7/m"}}})))
			}
			handle(l)
		},
	},
}

var shared = memory.New()

func must(l *core.Limiter, err error) *core.Limiter {
	if err != nil {
		panic(err)
	}
	return l
}

// play sends the whole sample, and returns what was logged.
func play(t *testing.T, s seen) (*core.Limiter, string) {
	t.Helper()
	var log bytes.Buffer
	c := core.Config{
		Backend: memory.New(), Policies: []core.Policy{{Name: "api", Rate: "100000/m"}},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	if s.config != nil {
		s.config(&c)
	}
	l := configured(t, c)
	if s.send != nil {
		s.send(l)
	}
	if s.fill == nil {
		s.fill = visitor("192.0.2.1")
	}
	for range sample {
		visit(l, s.fill())
	}
	return l, log.String()
}

func TestTheFirstRequestsShowWhatIsWrong(t *testing.T) {
	for code, scene := range scenes {
		t.Run(code, func(t *testing.T) {
			l, log := play(t, scene)
			if got := doctored(t, l); !slices.Equal(got, []string{code}) {
				t.Errorf("found %q", got)
			}
			if strings.Count(log, "level=WARN msg=misconfigured code="+code+" ") != 1 || strings.Count(log, "\n") != 1 {
				t.Errorf("logged %q", log)
			}
			for _, private := range []string{"192.0.2", "10.0.0.1", "127.0.0.1", "172.16"} {
				if strings.Contains(log, private) {
					t.Errorf("an address is in the log: %q", log)
				}
			}
		})
	}
}

// What requests show that all is well, or not for sure that something is wrong.
func TestHealthyRequestsShowNothing(t *testing.T) {
	n := 0
	in := func(requests ...func() core.Native) func() core.Native {
		return func() core.Native { n++; return requests[n%len(requests)]() }
	}
	for name, s := range map[string]seen{
		"clients":                     {},
		"a client makes fields up":    {send: func(l *core.Limiter) { visit(l, visitor("192.0.2.1", "X-Forwarded-For", "x")()) }},
		"many private clients":        {fill: in(visitor("10.0.0.1"), visitor("10.0.0.2"), visitor("10.0.0.3"), visitor("10.0.0.4"), visitor("10.0.0.5"))},
		"one is public":               {send: func(l *core.Limiter) { visit(l, visitor("192.0.2.1")()) }, fill: visitor("127.0.0.1")},
		"nobody counts addresses":     {config: func(c *core.Config) { c.Policies[0].Key = core.Const("all") }, fill: visitor("127.0.0.1", "X-Forwarded-For", "x")},
		"an own way to the address":   {config: func(c *core.Config) { c.Client = core.Native.Peer }, fill: visitor("127.0.0.1", "X-Forwarded-For", "x")},
		"a proxy":                     {config: proxied(""), fill: visitor("10.0.0.1", "Forwarded", "for=192.0.2.7")},
		"a proxy with two lines":      {config: proxied("X-Forwarded-For"), fill: visitor("10.0.0.1", "X-Forwarded-For", "x", "X-Forwarded-For", "192.0.2.7")},
		"a proxy with its own field":  {config: proxied("X-Real-IP"), fill: visitor("10.0.0.1", "X-Real-IP", "192.0.2.7")},
		"a proxy's own health checks": {config: proxied(""), fill: in(visitor("10.0.0.1"), visitor("10.0.0.1", "X-Forwarded-For", "192.0.2.7"))},
		"some users":                  {config: byUser, fill: in(visitor("192.0.2.1"), visitor("192.0.2.1", "User", "bob"))},
		"two routes":                  {config: func(c *core.Config) { c.Policies[0].Methods = []string{"POST"} }, fill: in(on("GET", "/a"), on("GET", "/b"))},
		"one route, both methods":     {config: func(c *core.Config) { c.Policies[0].Methods = []string{"POST"} }, fill: in(on("GET", "/a"), on("POST", "/a"))},
		"routes that are known": {
			config: func(c *core.Config) { c.Policies[0].Except = []string{"/healthz"} }, fill: in(on("GET", "/a"), on("GET", "/healthz")),
		},
		"two limiters, two names": {config: func(c *core.Config) { c.Backend = shared }, send: func(l *core.Limiter) {
			handle(must(core.New(core.Config{Backend: shared, Policies: []core.Policy{{Name: "other", Rate: "7/m"}}})), l)
		}},
		"two limiters, two keys": {config: func(c *core.Config) { c.Backend = shared }, send: func(l *core.Limiter) {
			handle(must(core.New(core.Config{Backend: shared, Policies: []core.Policy{{Name: "api", Rate: "7/m", Key: core.ByRoute}}})), l)
		}},
		"two limiters, two backends": {send: func(l *core.Limiter) {
			handle(must(core.New(core.Config{Backend: shared, Policies: []core.Policy{{Name: "api", Rate: "7/m"}}})), l)
		}},
		"limiters of several requests": {config: func(c *core.Config) { c.Policies[0].Name = "several" }, send: func(l *core.Limiter) {
			for range 60 {
				l := must(core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{{Name: "several", Rate: "7/m"}}}))
				handle(l)
				handle(l)
			}
			handle(l)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, log := play(t, s); log != "" {
				t.Errorf("logged %q", log)
			}
		})
	}
}

// After the sample, requests are no longer looked at.
func TestTheSampleEnds(t *testing.T) {
	l, log := play(t, seen{})
	visit(l, visitor("10.0.0.1", "X-Forwarded-For", "192.0.2.7")())
	handle(l, l)
	if got := doctored(t, l); got != nil || log != "" {
		t.Errorf("found %q, logged %q", got, log)
	}
}

// A forged field from the Internet says nothing until nearly all have it.
func TestForwardedRequestsOfAPublicProxy(t *testing.T) {
	l, _ := play(t, seen{fill: visitor("198.51.100.1", "Cf-Connecting-Ip", "192.0.2.7")})
	if got := doctored(t, l); !slices.Equal(got, []string{"proxy-not-named"}) {
		t.Errorf("found %q", got)
	}
}

// Many requests at once and the Doctor among them.
func TestDoctorWhileRequestsCome(t *testing.T) {
	l := configured(t, core.Config{Backend: memory.New(), Policies: []core.Policy{
		{Name: "api", Rate: "100000/m"}, {Name: "key", Rate: "10000/m", Key: core.ByHeader("X-Api-Key")},
	}, Logger: slog.New(slog.DiscardHandler)})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range sample / 4 {
				handle(l, l)
				if _, err := l.Doctor(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := doctored(t, l); !slices.Equal(got, []string{"mounted-twice", "value-mostly-missing"}) {
		t.Errorf("found %q", got)
	}
}
