package main

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/examples/internal/webtest"
)

func start(t *testing.T, backend core.Backend) *webtest.App {
	return webtest.Start(t, func(now func() time.Time) (http.Handler, error) { return newApp(backend, now) })
}

func get(path string) webtest.Request { return webtest.Request{Path: path} }

func invitation(to string) webtest.Request {
	return webtest.Request{Path: "/invitations", Form: url.Values{"email": {to}}}
}

func TestTheQuotaIsToldForNothing(t *testing.T) {
	a := start(t, memory.New())
	if got := a.Want(50, 200, get("/quota")).Body; got != `{"all_back_in_seconds":0,"limit":20,"remaining":20}` {
		t.Errorf("%s", got)
	}
	a.Want(20, 200, get("/"))
	if got := a.Want(1, 200, get("/quota")).Body; !strings.Contains(got, `"remaining":0`) {
		t.Errorf("%s", got)
	}
	a.Want(1, 429, get("/"))
}

func TestOnlyMissesCost(t *testing.T) {
	a := start(t, memory.New())
	a.Want(10, 200, get("/files/readme"))
	a.Want(5, 404, get("/files/a"))
	refused := a.Want(1, 429, get("/files/b"))
	a.Want(1, 429, get("/files/readme"))
	if !strings.Contains(refused.Body, `"violated-policies":["misses"]`) || refused.Header.Get("Retry-After") == "" {
		t.Errorf("%v %s", refused.Header, refused.Body)
	}
	a.Wait(11 * time.Minute)
	a.Want(1, 200, get("/files/readme"))
}

// A gate holds everybody who has looked until all have looked.
type gate struct {
	core.Backend
	looks *sync.WaitGroup
}

func (g gate) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	now, err := g.Backend.Take(ctx, at, asks, out)
	if asks[0].When == core.Never {
		g.looks.Done()
		g.looks.Wait()
	}
	return now, err
}

func TestMissesInParallelAreNoMore(t *testing.T) {
	const parallel = 15
	g := gate{memory.New(), new(sync.WaitGroup)}
	g.looks.Add(parallel)
	a := start(t, g)
	var misses atomic.Int64
	var clients sync.WaitGroup
	for range parallel {
		clients.Go(func() {
			if a.Send(get("/files/a")).Status == 404 {
				misses.Add(1)
			}
		})
	}
	clients.Wait()
	if n := misses.Load(); n != 5 {
		t.Errorf("%d misses answered, want 5", n)
	}
}

func TestAMailboxGetsThreeInvitations(t *testing.T) {
	a := start(t, memory.New())
	a.Want(9, 400, invitation("nobody")) // costs nothing
	a.Want(2, 200, invitation("ann@example.com"))
	a.Want(1, 200, invitation("Ann <ANN@example.com>"))
	a.Want(1, 429, invitation("ann@example.com"))
	a.Want(1, 200, invitation("bob@example.com"))
}

func TestOnePageForAllRefusals(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	a := start(t, memory.New())
	refused := func(path, policies, problem, reason string) {
		t.Helper()
		for accept, html := range map[string]bool{
			browser:                             true,
			"text/*, application/json;q=0.1":    true,
			"application/json":                  false,
			"*/*":                               false,
			"":                                  false,
			"text/html;q=0.5, application/json": false,
			"text/html;q=2":                     false,
		} {
			contentType, text := "application/problem+json", problem
			if html {
				contentType, text = "text/html; charset=utf-8", reason
			}
			got := a.Want(1, 429, webtest.Request{Path: path, Header: map[string]string{"Accept": accept}})
			if got.Header.Get("Content-Type") != contentType || !strings.Contains(got.Body, text) ||
				got.Header.Get("Vary") != "Accept" || got.Header.Get("Retry-After") == "" ||
				got.Header.Get("RateLimit-Policy") != policies {
				t.Errorf("%s, Accept %q: %v\n%s", path, accept, got.Header, got.Body)
			}
		}
	}
	a.Want(5, 404, get("/files/a"))
	refused("/files/a", `"everyone";q=20;w=60, "misses";q=5;w=600`, `["misses"]`, "files that we do not have.</p>\n<p>Please try again in ") // by the handler
	a.Want(20-5-7, 200, get("/"))
	refused("/", `"everyone";q=20;w=60`, `["everyone"]`, "faster than we can follow.</p>\n<p>Please try again in ") // by the middleware
}
