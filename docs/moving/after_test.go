package moving

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// makeLimiter returns a limiter of one policy over a memory of its own, for which
// no time passes.
func makeLimiter(t *testing.T, p core.Policy) *core.Limiter {
	t.Helper()
	noon := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	return makeWith(t, core.Config{Policies: []core.Policy{p}, Now: func() time.Time { return noon }})
}

func makeWith(t *testing.T, c core.Config) *core.Limiter {
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

func behindProxy(t *testing.T) http.Handler {
	t.Helper()
	// region proxies
	l, err := core.New(core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "pages", Rate: "5/m"}},
		Proxies:  []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	})
	// endregion
	if err != nil {
		t.Fatal(err)
	}
	return httplimit.New(l)(hello)
}

func TestBehindProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := behindProxy(t)
		if n := spoofs(t, h, 20); n != 5 {
			t.Errorf("%d forged requests passed, want 5", n)
		}
		local.forging("198.51.100.1").want(t, h, 20, 5)
		local.forging("198.51.100.2").want(t, h, 20, 5)
		local.forging("203.0.113.9, 198.51.100.2").want(t, h, 20, 0)
	})
}

// unreachable is a store that does not answer.
type unreachable struct{ core.Backend }

var errUnreachable = fmt.Errorf("%w: connection refused", core.ErrUnavailable)

func (unreachable) Take(context.Context, int64, []core.Ask, []core.Verdict) (int64, error) {
	return 0, errUnreachable
}

func TestStoreDown(t *testing.T) {
	for mode, want := range map[core.FailureMode][]int{core.Fallback: {200, 429}, core.FailClosed: {503, 503}, core.FailOpen: {200, 200}} {
		h := httplimit.New(makeWith(t, core.Config{Backend: unreachable{}, Fallback: memory.New(), Logger: slog.New(slog.DiscardHandler),
			Policies: []core.Policy{{Name: "pages", Rate: "1/h", OnFailure: mode}}}))(hello)
		for i, want := range want {
			if r := bob.get(h, "/"); r.StatusCode != want {
				t.Errorf("%v: request %d: %s", mode, i, r.Status)
			}
		}
	}
}

func TestLegacyHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policies := []core.Policy{{Name: "pages", Rate: "5/m"}}
		// region headers
		l, err := core.New(core.Config{
			Backend:  memory.New(),
			Policies: policies,
			Headers:  core.HeadersLegacy, // X-RateLimit-Limit, -Remaining and -Reset, as before
		})
		// endregion
		if err != nil {
			t.Fatal(err)
		}
		h := httplimit.New(l)(hello)
		bob.want(t, h, 9, 5)
		has(t, bob.get(h, "/"), []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Retry-After"}, []string{"Ratelimit"})
	})
}
