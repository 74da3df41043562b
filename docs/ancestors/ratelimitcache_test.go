package ancestors

import (
	"context"
	"strings"
	"testing"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func TestClassAttributes(t *testing.T) {
	// region exactly
	// minutes = 3, requests = 20
	pages := core.Policy{
		Name:        "pages",
		Rate:        "20/3m@1m", // 20 in 3 minutes, counted in minutes
		Strategy:    core.BucketedWindow{Align: core.Clock},
		CountDenied: true,
	}
	// endregion
	open(t, pages).play(`
		59s   GET / -> 200 x20
		59s   GET / -> 429
		3m59s GET / -> 429
		4m    GET / -> 200 x19
		4m    GET / -> 429`)
	// region usual
	usual := core.Policy{Name: "pages", Rate: "20/3m"}
	// endregion
	open(t, usual).play(`
		59s   GET / -> 200 x20
		59s   GET / -> 429
		4m    GET / -> 200 x7
		4m    GET / -> 429`)
}

// One request a minute keeps a client of the ancestor out for ever.
func TestClassCountsRefused(t *testing.T) {
	exactly := core.Policy{Name: "a", Rate: "2/3m@1m", Strategy: core.BucketedWindow{Align: core.Clock}, CountDenied: true}
	ours := core.Policy{Name: "a", Rate: "2/3m@1m", Strategy: core.BucketedWindow{Align: core.Clock}}
	open(t, exactly).play(`
		0m GET / -> 200 x2
		1m GET / -> 429
		2m GET / -> 429
		3m GET / -> 429
		4m GET / -> 429
		5m GET / -> 429
		6m GET / -> 429`)
	open(t, ours).play(`
		0m GET / -> 200 x2
		1m GET / -> 429
		2m GET / -> 429
		3m GET / -> 429
		4m GET / -> 200`)
}

// region guard

// LoginGuard is ratelimit_post with key_field.
type LoginGuard struct {
	core.Base
	Field string
}

// ShouldLimit is should_ratelimit.
func (g LoginGuard) ShouldLimit(r core.Request) bool {
	return r.Method() == "POST" && g.Base.ShouldLimit(r)
}

// KeyExtra is key_extra: g.Base answers the client's address.
func (g LoginGuard) KeyExtra(r core.Request, key core.Key) core.Key {
	key = g.Base.KeyExtra(r, key)
	if g.Field != "" {
		key = key.With(g.Field, r.Form(g.Field))
	}
	return key
}

// endregion

func TestClassLoginGuard(t *testing.T) {
	timeline := `
		0s GET / -> 200 x20
		0s POST / username=bob -> 200 x10
		0s POST / username=bob -> 429
		0s POST / username=eve -> 200
		0s POST / username=bob from:192.0.2.2 -> 200`
	// region mounted
	guarded := core.Policy{Name: "login", Rate: "10/3m", Hooks: LoginGuard{Field: "username"}}
	// endregion
	open(t, guarded).play(timeline)
	// region noclass
	plain := core.Policy{Name: "login", Rate: "10/3m", By: "ip+post:username", Methods: []string{"POST"}}
	// endregion
	open(t, plain).play(timeline)
}

// region disallowed

// Logged tells a log of every refusal.
type Logged struct {
	LoginGuard
	Log func(policy string, identity string)
}

// Disallowed is disallowed, and super() is spelled out.
func (l Logged) Disallowed(r core.Request, d core.Decision) core.Response {
	l.Log(d.Policy, r.IP().String())
	return l.LoginGuard.Disallowed(r, d)
}

// endregion

func TestClassDisallowed(t *testing.T) {
	var log []string
	hooks := Logged{LoginGuard{Field: "username"}, func(policy, ip string) { log = append(log, policy+" "+ip) }}
	open(t, core.Policy{Name: "login", Rate: "1/3m", Hooks: hooks}).play(`
		0s POST / username=bob -> 200
		0s POST / username=bob -> 429
		0s GET / -> 200 x5`)
	if got := strings.Join(log, ", "); got != "login 192.0.2.1" {
		t.Error(got)
	}
}

// region backend

// Counted counts the calls of another backend.
type Counted struct {
	core.Backend
	Takes int
}

// Take is cache_get_many and cache_incr in one atomic step.
func (c *Counted) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	c.Takes++
	return c.Backend.Take(ctx, at, asks, out)
}

// endregion

func TestClassCache(t *testing.T) {
	counted := &Counted{Backend: memory.New()}
	openConfig(t, core.Config{Backend: counted, Policies: []core.Policy{{Name: "pages", Rate: "2/m"}}}).play(`
		0s GET / -> 200 x2
		0s GET / -> 429`)
	if counted.Takes != 3 {
		t.Error(counted.Takes)
	}
}

func TestClassCounters(t *testing.T) {
	s := open(t, core.Policy{Name: "pages", Rate: "20/3m"})
	s.play(`0s GET / -> 200 x7`)
	ctx := t.Context()
	// region counters
	client := core.KeyOfPrefix(prefix("192.0.2.1/32"))
	d, err := s.Peek(ctx, "pages", client, 1) // d.Limit - d.Remaining are used
	// endregion
	if err != nil || d.Limit-d.Remaining != 7 {
		t.Error(d, err)
	}
}
