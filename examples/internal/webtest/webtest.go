// Package webtest drives an example application over real TCP, on a clock that
// moves only when it is told to.
package webtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// An App is an application that runs on a free port of the loopback interface.
// The time is noon, UTC, when it starts.
type App struct {
	*testing.T
	URL   string
	clock atomic.Int64 // nanoseconds since the Unix epoch
}

// Start starts the application that newApp makes, until the test ends.
func Start(t *testing.T, newApp func(now func() time.Time) (http.Handler, error)) *App {
	t.Helper()
	a := &App{T: t}
	a.clock.Store(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	h, err := newApp(func() time.Time { return time.Unix(0, a.clock.Load()) })
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	a.URL = s.URL
	return a
}

// Wait moves the application's clock.
func (a *App) Wait(d time.Duration) { a.clock.Add(int64(d)) }

// A Request is what a client sends: a form with POST, or else a GET.
type Request struct {
	Path           string
	Form           url.Values
	Header         map[string]string
	User, Password string // basic authentication
}

// An Answer is a response whose body has been read.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Send sends a request and fails the test if nothing answers.
func (a *App) Send(r Request) Answer {
	a.Helper()
	method, body := "GET", io.Reader(nil)
	if r.Form != nil {
		method, body = "POST", strings.NewReader(r.Form.Encode())
	}
	req, err := http.NewRequestWithContext(a.Context(), method, a.URL+r.Path, body)
	if err != nil {
		a.Fatal(err)
	}
	if r.Form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for k, v := range r.Header {
		req.Header.Set(k, v)
	}
	if r.User != "" {
		req.SetBasicAuth(r.User, r.Password)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		a.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		a.Fatal(err)
	}
	return Answer{resp.StatusCode, resp.Header, string(b)}
}

// Want sends n equal requests, each of which must get the status, and returns
// the last answer.
func (a *App) Want(n, status int, r Request) (last Answer) {
	a.Helper()
	for i := range n {
		if last = a.Send(r); last.Status != status {
			a.Fatalf("request %d of %d to %s: %d, want %d\n%s", i+1, n, r.Path, last.Status, status, last.Body)
		}
	}
	return last
}
