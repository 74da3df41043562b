// Package apptest drives the example applications, which do the same in
// different frameworks, over real TCP.
package apptest

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// NewApp makes an application that reads the time from now.
type NewApp func(now func() time.Time, audit *slog.Logger) (http.Handler, error)

// NewServer makes one that serves by itself.
type NewServer func(now func() time.Time, audit *slog.Logger) (Server, error)

// A Server answers at a listener until it is closed.
type Server func(net.Listener) error

// An app is an application that runs.
type app struct {
	*testing.T
	url   string
	clock atomic.Int64 // nanoseconds since the Unix epoch
	audit bytes.Buffer
}

func start(t *testing.T, newServer NewServer) *app {
	t.Helper()
	a := &app{T: t}
	a.clock.Store(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	serve, err := newServer(func() time.Time { return time.Unix(0, a.clock.Load()) }, slog.New(slog.NewTextHandler(&a.audit, nil)))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- serve(l) }()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	a.url = "http://" + l.Addr().String()
	return a
}

func (a *app) wait(seconds int) { a.clock.Add(int64(seconds) * int64(time.Second)) }

// An answer is a response whose body has been read.
type answer struct {
	*http.Response
	body string
}

// send sends one request; with a user name, a POST of a form.
func (a *app) send(path string, username ...string) answer {
	a.Helper()
	var resp *http.Response
	var err error
	if len(username) > 0 {
		resp, err = http.PostForm(a.url+path, url.Values{"username": username})
	} else {
		resp, err = http.Get(a.url + path)
	}
	if err != nil {
		a.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		a.Fatal(err)
	}
	return answer{resp, string(body)}
}

// want sends n requests that are all answered with the status.
func (a *app) want(n, status int, path string, username ...string) (last answer) {
	a.Helper()
	for i := range n {
		last = a.send(path, username...)
		if last.StatusCode != status {
			a.Fatalf("request %d of %d to %s %v: %s, want %d\n%s", i+1, n, path, username, last.Status, status, last.body)
		}
	}
	return last
}

func (r answer) retryAfter(a *app) int {
	a.Helper()
	s, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil {
		a.Fatal(err)
	}
	return s
}

// Run tests an application on net/http.
func Run(t *testing.T, newApp NewApp) {
	RunServer(t, func(now func() time.Time, audit *slog.Logger) (Server, error) {
		h, err := newApp(now, audit)
		return func(l net.Listener) error { return http.Serve(l, h) }, err
	})
}

// RunServer tests an application.
func RunServer(t *testing.T, newServer NewServer) {
	for name, test := range map[string]func(*app){
		"everyone": everyone, "login": login, "form": form, "reports": reports, "search": search,
	} {
		t.Run(name, func(t *testing.T) { test(start(t, newServer)) })
	}
}

func everyone(a *app) {
	a.want(60, 200, "/")
	a.want(40, 404, "/nowhere") // counts too
	a.want(1, 429, "/nowhere")
	refusal := a.want(1, 429, "/")
	a.want(10, 200, "/healthz")
	if got, want := refusal.Header.Get("RateLimit-Policy"), `"everyone-1m";q=100;w=60, "everyone-1d";q=2000;w=86400`; got != want {
		a.Errorf("RateLimit-Policy: %s\nwant: %s", got, want)
	}
	if got := refusal.Header.Get("Content-Type"); got != "application/problem+json" {
		a.Errorf("Content-Type: %s", got)
	}
	a.wait(refusal.retryAfter(a))
	a.want(1, 200, "/")
}

func login(a *app) {
	a.want(5, 200, "/login", "root")
	refusal := a.want(1, 429, "/login", "root")
	a.want(5, 200, "/login", "alice") // another name, another counter
	a.want(2, 429, "/login", "alice")
	if got := refusal.body; !strings.Contains(got, `"violated-policies":["login"]`) {
		a.Errorf("body: %s", got)
	}
	rows := a.audit.String()
	if n := strings.Count(rows, "\n"); n != 3 || !strings.Contains(rows, "ip=127.0.0.1 policy=login") || strings.Contains(rows, "root") {
		a.Errorf("want one audit row per refusal, without user names, got:\n%s", rows)
	}
	a.wait(refusal.retryAfter(a))
	a.want(1, 200, "/login", "root")
}

func form(a *app) { a.want(20, 200, "/login") }

func reports(a *app) {
	a.want(2, 200, "/reports/pdf")
	refusal := a.want(1, 429, "/reports/pdf") // its own limit, but the group's was asked first
	a.want(7, 200, "/reports/csv")
	a.want(1, 429, "/reports/csv")
	fields := refusal.Header.Get("RateLimit-Policy")
	if want := `"everyone-1m";q=100;w=60, "everyone-1d";q=2000;w=86400, "reports";q=10;w=60, "pdf";q=2;w=60`; fields != want {
		a.Errorf("RateLimit-Policy of the limiters met: %s\nwant: %s", fields, want)
	}
}

func search(a *app) {
	for range 3 {
		if got := a.want(1, 200, "/search").body; got != "results\n" {
			a.Errorf("below the limit: %s", got)
		}
	}
	if got := a.want(1, 200, "/search").body; got != "results of yesterday\n" {
		a.Errorf("over the limit: %s", got)
	}
	a.wait(20) // two windows later nothing counts any more
	if got := a.want(1, 200, "/search").body; got != "results\n" {
		a.Errorf("afterwards: %s", got)
	}
}
