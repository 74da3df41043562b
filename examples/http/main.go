// An application on net/http with limits of several kinds. README.md beside it
// says what to try.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
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
	limit := func(p core.Policy) func(http.Handler) http.Handler {
		l, err := core.New(core.Config{Backend: backend, Policies: []core.Policy{p}, Now: now})
		if err != nil {
			errs = append(errs, err)
			return func(next http.Handler) http.Handler { return next }
		}
		return httplimit.New(l)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", say("hello\n"))

	// A limit with behaviour of its own: see the package guard.
	login := limit(core.Policy{Name: "login", Rate: "5/15m", Hooks: guard.LoginGuard{Field: "username", Audit: audit}})
	mux.Handle("GET /login", login(say("welcome\n")))
	mux.Handle("POST /login", login(say("welcome\n")))

	// One limiter on several routes is one quota for all of them. A route can
	// have another one on top.
	reports := limit(core.Policy{Name: "reports", Rate: "10/m"})
	pdf := limit(core.Policy{Name: "pdf", Rate: "2/m", Strategy: core.MovingWindow{}})
	mux.Handle("GET /reports/csv", reports(say("a,b,c\n")))
	mux.Handle("GET /reports/pdf", reports(pdf(say("%PDF\n"))))

	// Over this limit the handler decides what happens.
	searches := limit(core.Policy{Name: "search", Rate: "3/10s", Mode: core.Annotate})
	mux.Handle("GET /search", searches(http.HandlerFunc(search)))

	// Two rates for each client over all routes, unknown ones included. Around a
	// mux the route is not known yet, so what is not limited stays outside.
	all := http.NewServeMux()
	all.Handle("GET /healthz", say("ok\n"))
	all.Handle("/", limit(core.Policy{Name: "everyone", Rate: "100/m; 2000/d"})(mux))
	return all, errors.Join(errs...)
}

// region annotate

func search(w http.ResponseWriter, r *http.Request) {
	if d, ok := httplimit.Decision(r); ok && d.Limited {
		io.WriteString(w, "results of yesterday\n")
		return
	}
	io.WriteString(w, "results\n")
}

// endregion

func say(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) })
}
