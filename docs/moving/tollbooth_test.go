package moving

import (
	"fmt"
	"log"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/didip/tollbooth/v7"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func tollboothBefore() http.Handler {
	// region before
	lmt := tollbooth.NewLimiter(1, nil) // one per second
	lmt.SetBurst(5)
	handler := tollbooth.LimitHandler(lmt, hello)
	// endregion
	return handler
}

func tollboothAfter(t *testing.T) http.Handler {
	// region after
	l, err := core.New(core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "pages", Rate: "1/s", Strategy: core.GCRA{Burst: 5}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	handler := httplimit.New(l)(hello)
	// endregion
	return handler
}

func TestTollbooth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, h := range []http.Handler{tollboothBefore(), tollboothAfter(t)} {
			bob.want(t, h, 20, 5)
			time.Sleep(time.Second)
			bob.want(t, h, 20, 1)
			time.Sleep(time.Hour)
			bob.want(t, h, 20, 5)
		}
	})
}

func TestTollboothForged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if n := spoofs(t, tollboothBefore(), 20); n != 20 {
			t.Errorf("before: %d forged requests passed, the page says 20", n)
		}
		if n := spoofs(t, tollboothAfter(t), 20); n != 5 {
			t.Errorf("after: %d forged requests passed, want 5", n)
		}
	})
}

// Paths are keys before: a client that makes up paths is not limited.
func TestTollboothPaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, after := tollboothBefore(), tollboothAfter(t)
		passed := [2]int{}
		for i := range 20 {
			target := fmt.Sprintf("/items/%d", i)
			for k, h := range []http.Handler{before, after} {
				if bob.get(h, target).StatusCode == 200 {
					passed[k]++
				}
			}
		}
		if passed != [2]int{20, 5} {
			t.Error(passed)
		}
	})
}

func TestTollboothRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// region route
		l, err := core.New(core.Config{
			Backend:  memory.New(),
			Policies: []core.Policy{{Name: "routes", Rate: "1/s", Strategy: core.GCRA{Burst: 5}, By: "ip+route"}},
		})
		if err != nil {
			log.Fatal(err)
		}
		limited := httplimit.New(l)
		mux := http.NewServeMux()
		mux.Handle("GET /items/{id}", limited(hello)) // one counter, whatever the id
		mux.Handle("GET /users/{id}", limited(hello)) // another one
		// endregion
		passed := [2]int{}
		for i := range 20 {
			for k, format := range []string{"/items/%d", "/users/%d"} {
				if bob.get(mux, fmt.Sprintf(format, i)).StatusCode == 200 {
					passed[k]++
				}
			}
		}
		if passed != [2]int{5, 5} {
			t.Error(passed)
		}
	})
}

func TestTollboothHeaders(t *testing.T) {
	theirs := []string{"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset", "X-Rate-Limit-Limit", "X-Rate-Limit-Request-Remote-Addr"}
	has(t, bob.get(tollboothBefore(), "/"), theirs, []string{"Ratelimit", "Ratelimit-Policy", "Retry-After"})
	has(t, bob.get(tollboothAfter(t), "/"), []string{"Ratelimit", "Ratelimit-Policy"}, theirs)
}
