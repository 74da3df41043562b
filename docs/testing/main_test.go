package main

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// region start

// start makes an application of its own for a test. What change does to the
// limits is the test's business.
func start(t *testing.T, change func(*core.Config)) *app {
	t.Helper()
	c := limits()
	if change != nil {
		change(&c)
	}
	a, err := newApp(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// endregion

// sign writes into the guest book and returns the status.
func sign(a *app) int { return answer(a).StatusCode }

func answer(a *app) *http.Response {
	form := strings.NewReader(url.Values{"text": {"hello"}}.Encode())
	r := httptest.NewRequest("POST", "/entries", form) // from 192.0.2.1, as httptest has it
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w.Result()
}

// region disabled

func TestTheBookKeepsAHundredEntries(t *testing.T) {
	a := start(t, func(c *core.Config) { c.Disabled = true }) // not what is tested here
	for range 150 {
		if status := sign(a); status != http.StatusCreated {
			t.Fatal(status)
		}
	}
	if n := len(a.book.entries); n != 100 {
		t.Errorf("%d entries", n)
	}
}

// endregion

// region fresh

func TestThreeEntriesPerVisitor(t *testing.T) {
	a := start(t, stopped) // its memory is new, so nothing is left from other tests
	for i, want := range []int{201, 201, 201, 429, 429} {
		if status := sign(a); status != want {
			t.Errorf("entry %d: status %d, want %d", i+1, status, want)
		}
	}
}

// stopped is a clock that does not go on: no window ends during the test.
func stopped(c *core.Config) {
	now := time.Now()
	c.Now = func() time.Time { return now }
}

// endregion

// region reset

func TestTheModeratorForgives(t *testing.T) {
	a := start(t, stopped)
	visitor := core.KeyOfPrefix(netip.MustParsePrefix("192.0.2.1/32"))
	for range 2 {
		for range 3 {
			if status := sign(a); status != http.StatusCreated {
				t.Error(status)
			}
		}
		if err := a.limiter.Reset(t.Context(), "sign", visitor); err != nil {
			t.Fatal(err)
		}
	}
}

// endregion

// region shared

func TestOneBackendForSeveralTests(t *testing.T) {
	backend := memory.New()
	for range 2 {
		a := start(t, func(c *core.Config) { c.Backend = backend; stopped(c) })
		sameVisitor := httptest.NewRequest("POST", "/entries", nil)
		if err := a.limiter.ResetRequest(httplimit.Request(sameVisitor)); err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{201, 201, 201, 429} {
			if status := sign(a); status != want {
				t.Errorf("entry %d: status %d, want %d", i+1, status, want)
			}
		}
	}
}

// endregion

// region clock

func TestRetryAfterIsAPromise(t *testing.T) {
	now := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	a := start(t, func(c *core.Config) { c.Now = func() time.Time { return now } })
	for range 3 {
		sign(a)
	}
	refused := answer(a)
	wait, err := strconv.Atoi(refused.Header.Get("Retry-After"))
	if err != nil {
		t.Fatal(refused.Status, err)
	}
	now = now.Add(time.Duration(wait) * time.Second)
	if status := sign(a); status != http.StatusCreated {
		t.Errorf("status %d after waiting for %d s", status, wait)
	}
}

// endregion

// region synctest

func TestTheNextDayIsANewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, nil) // made in the bubble, its memory has the bubble's clock
		for range 2 {
			for i, want := range []int{201, 201, 201, 429} {
				if status := sign(a); status != want {
					t.Errorf("entry %d: status %d, want %d", i+1, status, want)
				}
			}
			time.Sleep(24 * time.Hour) // takes no time
		}
	})
}

// endregion

func TestOverTCP(t *testing.T) {
	a := start(t, stopped)
	server := httptest.NewServer(a)
	defer server.Close()
	for i, want := range []int{201, 201, 201, 429} {
		resp, err := http.PostForm(server.URL+"/entries", url.Values{"text": {"hello"}})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("entry %d: %s, want %d", i+1, resp.Status, want)
		}
	}
	resp, err := http.Get(server.URL + "/entries")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Error("reading is limited with writing:", resp.Status)
	}
}
