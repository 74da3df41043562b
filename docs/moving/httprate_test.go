package moving

//lint:file-ignore SA1019 what programs call today is what they move away from

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/httprate"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func httprateBefore() http.Handler {
	// region before
	handler := httprate.LimitByIP(5, time.Minute)(hello)
	// endregion
	return handler
}

func httprateAfter() http.Handler {
	// region after
	handler := httplimit.Limit("5/m")(hello)
	// endregion
	return handler
}

func TestHTTPRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, h := range []http.Handler{httprateBefore(), httprateAfter()} {
			bob.want(t, h, 20, 5)
			eve.want(t, h, 20, 5)
			time.Sleep(2 * time.Minute)
			bob.want(t, h, 20, 5)
		}
	})
}

// Waiting as long as Retry-After says is enough after, and not before.
func TestHTTPRateRetryAfter(t *testing.T) {
	for name, c := range map[string]struct {
		handler func() http.Handler
		passes  int
	}{"before": {httprateBefore, 0}, "after": {httprateAfter, 1}} {
		synctest.Test(t, func(t *testing.T) {
			h := c.handler()
			bob.want(t, h, 5, 5)
			r := bob.get(h, "/")
			seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
			if err != nil {
				t.Fatal(name, err)
			}
			time.Sleep(time.Duration(seconds) * time.Second)
			if got := bob.passes(t, h, 1); got != c.passes {
				t.Errorf("%s: %d requests passed after %d s", name, got, seconds)
			}
		})
	}
}

func TestHTTPRateForged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// region real-ip
		handler := httprate.LimitByRealIP(5, time.Minute)(hello)
		// endregion
		if n := spoofs(t, handler, 20); n != 20 {
			t.Errorf("before: %d forged requests passed, the page says 20", n)
		}
		if n := spoofs(t, httprateAfter(), 20); n != 5 {
			t.Errorf("after: %d forged requests passed, want 5", n)
		}
	})
}

func TestHTTPRateKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// region keys-before
		byKey := httprate.LimitBy(5, time.Minute, func(r *http.Request) (string, error) {
			if key := r.Header.Get("X-Api-Key"); key != "" {
				return key, nil
			}
			return "", errors.New("no key")
		})
		// endregion
		before := byKey(hello)
		// region keys-after
		l, err := core.New(core.Config{
			Backend: memory.New(),
			Policies: []core.Policy{{
				Name: "api", Rate: "5/m", By: "header:X-Api-Key",
				Missing: core.MissingRefuse, // 429; MissingIP, the default, counts by address
			}},
		})
		// endregion
		if err != nil {
			t.Fatal(err)
		}
		if r := bob.get(before, "/"); r.StatusCode != http.StatusPreconditionRequired {
			t.Error("before:", r.Status)
		}
		bob.want(t, httplimit.New(l)(hello), 3, 0)
	})
}

func TestHTTPRateHeaders(t *testing.T) {
	theirs := []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}
	ours := []string{"Ratelimit", "Ratelimit-Policy"}
	has(t, bob.get(httprateBefore(), "/"), theirs, ours)
	has(t, bob.get(httprateAfter(), "/"), ours, theirs)
}
