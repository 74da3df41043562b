// An Echo application with limits of several kinds. README.md beside it says what
// to try.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/labstack/echo/v4"

	echolimit "github.com/stint-go/stint/adapters/echo"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/examples/guard"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on")
	flag.Parse()
	app, err := newApp(nil, slog.Default())
	if err == nil {
		fmt.Println("starting on http://" + *addr)
		err = http.ListenAndServe(*addr, app)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// newApp makes the application. now is for tests; nil is the real time.
func newApp(now func() time.Time, audit *slog.Logger) (http.Handler, error) {
	var errs []error
	backend := memory.New()
	limit := func(p core.Policy) echo.MiddlewareFunc {
		l, err := core.New(core.Config{Backend: backend, Policies: []core.Policy{p}, Now: now})
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		return echolimit.New(l)
	}

	e := echo.New()

	// Two rates for each client over all routes, unknown ones included.
	e.Use(limit(core.Policy{Name: "everyone", Rate: "100/m; 2000/d", Except: []string{"/healthz"}}))
	e.GET("/healthz", say("ok\n"))
	e.GET("/", say("hello\n"))

	// A limit with behaviour of its own: see the package guard.
	e.Match([]string{"GET", "POST"}, "/login", say("welcome\n"),
		limit(core.Policy{Name: "login", Rate: "5/15m", Hooks: guard.LoginGuard{Field: "username", Audit: audit}}))

	// One limiter for a group is one quota for all its routes. A route can have
	// another one on top.
	reports := e.Group("/reports", limit(core.Policy{Name: "reports", Rate: "10/m"}))
	reports.GET("/csv", say("a,b,c\n"))
	reports.GET("/pdf", say("%PDF\n"), limit(core.Policy{Name: "pdf", Rate: "2/m", Strategy: core.MovingWindow{}}))

	// Over this limit the handler decides what happens.
	e.GET("/search", search, limit(core.Policy{Name: "search", Rate: "3/10s", Mode: core.Annotate}))
	return e, errors.Join(errs...)
}

// region annotate

func search(c echo.Context) error {
	if d, ok := echolimit.Decision(c); ok && d.Limited {
		return c.String(http.StatusOK, "results of yesterday\n")
	}
	return c.String(http.StatusOK, "results\n")
}

// endregion

func say(text string) echo.HandlerFunc {
	return func(c echo.Context) error { return c.String(http.StatusOK, text) }
}
