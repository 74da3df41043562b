package main

import (
	"fmt"
	"io"
	"net/http"

	httplimit "github.com/stint-go/stint/adapters/http"
	memcachedlimit "github.com/stint-go/stint/backends/memcached"
	"github.com/stint-go/stint/core"
)

// pages is the class of 2009 with its own settings: 20 requests in 3 minutes,
// counted in minutes of the clock, refused ones too.
var pages = core.Policy{
	Name:        "pages",
	Rate:        "20/3m@1m",
	Strategy:    core.BucketedWindow{Align: core.Clock},
	CountDenied: true,
}

// login is its subclass for forms: what counts is a POST, by address and by the
// name that is tried, whatever its spelling.
var login = core.Policy{
	Name:     "login",
	Rate:     "10/3m@1m",
	Strategy: core.BucketedWindow{Align: core.Clock},
	By:       "ip+fold(post:username)",
	Methods:  []string{"POST"},
}

// newApp is the application, which counts in the memcached at addr.
func newApp(addr string) (http.Handler, error) {
	backend, err := memcachedlimit.New([]string{addr}, memcachedlimit.Options{})
	if err != nil {
		return nil, err
	}
	page, err := core.New(core.Config{Backend: backend, Policies: []core.Policy{pages}})
	if err != nil {
		return nil, err
	}
	form, err := core.New(core.Config{Backend: backend, Policies: []core.Policy{login}})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", text("/page is limited, /login too; /debug shows what was counted\n"))
	mux.Handle("GET /page", httplimit.New(page)(text("a page\n")))
	mux.Handle("GET /debug", debug(addr, page))
	mux.Handle("/login", httplimit.New(form)(http.HandlerFunc(tryLogin)))
	return mux, nil
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s) }
}

// tryLogin shows the form, and lets nobody in.
func tryLogin(w http.ResponseWriter, r *http.Request) {
	if r.Method == "POST" {
		w.WriteHeader(http.StatusUnauthorized)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, `<!doctype html><title>Login</title>
<form method=post><input name=username> <input name=password type=password> <button>Log in</button></form>
`)
}

// debug shows what a client has used, and the counters of all: as they are in
// memcached, where a name holds a hash and no address. It is not for strangers.
func debug(addr string, page *core.Limiter) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d, err := page.PeekRequest(httplimit.Request(r))
		if err == nil {
			fmt.Fprintf(w, "you: %d of %d pages, all again in %v\n\n", d.Limit-d.Remaining, d.Limit, d.ResetAfter)
			err = counters(w, addr)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}
}
