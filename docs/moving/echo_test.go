package moving

import (
	"errors"
	"log"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	echolimit "github.com/stint-go/stint/adapters/echo"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func page(c echo.Context) error { return c.String(200, "hello") }

func echoBefore() http.Handler {
	// region before
	e := echo.New()
	e.Use(middleware.RateLimiter(middleware.NewRateLimiterMemoryStoreWithConfig(
		middleware.RateLimiterMemoryStoreConfig{Rate: 2, Burst: 5},
	)))
	e.GET("/", page)
	// endregion
	return e
}

func echoAfter(t *testing.T) http.Handler {
	// region after
	l, err := core.New(core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "pages", Rate: "2/s", Strategy: core.GCRA{Burst: 5}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	e := echo.New()
	e.Use(echolimit.New(l))
	e.GET("/", page)
	// endregion
	return e
}

func TestEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, h := range []http.Handler{echoBefore(), echoAfter(t)} {
			bob.want(t, h, 20, 5)
			time.Sleep(time.Second)
			bob.want(t, h, 20, 2)
			eve.want(t, h, 20, 5)
		}
	})
}

func TestEchoForged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if n := spoofs(t, echoBefore(), 20); n != 20 {
			t.Errorf("before: %d forged requests passed, the page says 20", n)
		}
		if n := spoofs(t, echoAfter(t), 20); n != 5 {
			t.Errorf("after: %d forged requests passed, want 5", n)
		}
	})
}

// Slow rates: the store forgets who was silent for ExpiresIn, spent or not.
func TestEchoForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// region slow-before
		store := middleware.NewRateLimiterMemoryStoreWithConfig(
			middleware.RateLimiterMemoryStoreConfig{Rate: 1.0 / 3600, Burst: 1}, // one per hour?
		)
		// endregion
		e := echo.New()
		e.Use(middleware.RateLimiter(store))
		e.GET("/", page)
		f := echo.New()
		// region slow-after
		l, err := core.New(core.Config{
			Backend:  memory.New(),
			Policies: []core.Policy{{Name: "hourly", Rate: "1/h", Strategy: core.MovingWindow{}}},
		})
		// endregion
		if err != nil {
			t.Fatal(err)
		}
		f.Use(echolimit.New(l))
		f.GET("/", page)
		bob.want(t, e, 3, 1)
		bob.want(t, f, 3, 1)
		passed := [2]int{}
		for range 10 {
			time.Sleep(3*time.Minute + time.Second)
			eve.get(e, "/") // anybody's request cleans up
			for i, h := range []http.Handler{e, f} {
				passed[i] += bob.passes(t, h, 1)
			}
		}
		if passed[0] < 8 || passed[1] != 0 {
			t.Error(passed)
		}
	})
}

func TestEchoErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policies := []core.Policy{{Name: "pages", Rate: "1/m"}}
		// region errors
		l, err := core.New(core.Config{
			Backend:      memory.New(),
			Policies:     policies,
			ReturnErrors: true,
		})
		if err != nil {
			log.Fatal(err)
		}
		e := echo.New()
		e.Use(echolimit.New(l))
		e.HTTPErrorHandler = func(err error, c echo.Context) {
			var limited *core.LimitedError
			if errors.As(err, &limited) {
				c.JSON(limited.Response.Status, map[string]string{"message": "rate limit exceeded"})
				return
			}
			e.DefaultHTTPErrorHandler(err, c)
		}
		// endregion
		e.GET("/", page)
		bob.want(t, e, 3, 1)
		r := bob.get(e, "/")
		has(t, r, []string{"Retry-After", "Ratelimit"}, nil)
		if r.Header.Get("Content-Type") != "application/json" {
			t.Error(r.Header)
		}
	})
}

func TestEchoHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, after := echoBefore(), echoAfter(t)
		for range 9 {
			bob.get(before, "/")
			bob.get(after, "/")
		}
		ours := []string{"Ratelimit", "Ratelimit-Policy", "Retry-After"}
		has(t, bob.get(before, "/"), nil, append(ours, "X-Ratelimit-Limit"))
		has(t, bob.get(after, "/"), ours, nil)
	})
}
