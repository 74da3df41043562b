// A Fiber application with limits of several kinds. README.md beside it says what
// to try.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/gofiber/fiber/v2"

	fiberlimit "github.com/stint-go/stint/adapters/fiber"
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
		err = app.Listen(*addr)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// newApp makes the application. now is for tests; nil is the real time.
func newApp(now func() time.Time, audit *slog.Logger) (*fiber.App, error) {
	var errs []error
	backend := memory.New()
	limit := func(p core.Policy) fiber.Handler {
		l, err := core.New(core.Config{Backend: backend, Policies: []core.Policy{p}, Now: now})
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		return fiberlimit.New(l)
	}

	app := fiber.New(fiber.Config{DisableStartupMessage: true})

	// Fiber goes through routes and Use in the order in which they are written:
	// what comes before a limit is not counted by it.
	app.Get("/healthz", say("ok\n"))

	// Two rates for each client over all routes, unknown ones included.
	app.Use(limit(core.Policy{Name: "everyone", Rate: "100/m; 2000/d"}))
	app.Get("/", say("hello\n"))

	// A limit with behaviour of its own: see the package guard.
	app.All("/login",
		limit(core.Policy{Name: "login", Rate: "5/15m", Hooks: guard.LoginGuard{Field: "username", Audit: audit}}),
		say("welcome\n"))

	// One limiter for a group is one quota for all its routes. A route can have
	// another one on top.
	reports := app.Group("/reports", limit(core.Policy{Name: "reports", Rate: "10/m"}))
	reports.Get("/csv", say("a,b,c\n"))
	reports.Get("/pdf", limit(core.Policy{Name: "pdf", Rate: "2/m", Strategy: core.MovingWindow{}}), say("%PDF\n"))

	// Over this limit the handler decides what happens.
	app.Get("/search", limit(core.Policy{Name: "search", Rate: "3/10s", Mode: core.Annotate}), search)
	return app, errors.Join(errs...)
}

// region annotate

func search(c *fiber.Ctx) error {
	if d, ok := fiberlimit.Decision(c); ok && d.Limited {
		return c.SendString("results of yesterday\n")
	}
	return c.SendString("results\n")
}

// endregion

func say(text string) fiber.Handler {
	return func(c *fiber.Ctx) error { return c.SendString(text) }
}
