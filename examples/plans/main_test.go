package main

import (
	"crypto/sha256"
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// An app is the application over a database of its own, on a clock that moves
// only when it is told to.
type app struct {
	*testing.T
	db            *sql.DB
	public, admin *httptest.Server
	clock         atomic.Int64
}

func start(t *testing.T) *app {
	t.Helper()
	a := &app{T: t}
	a.clock.Store(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	var err error
	if a.db, err = open(filepath.Join(t.TempDir(), "plans 100%.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.db.Close() })
	public, admin, err := newApp(a.db, func() time.Time { return time.Unix(0, a.clock.Load()) })
	if err != nil {
		t.Fatal(err)
	}
	a.public, a.admin = httptest.NewServer(public), httptest.NewServer(admin)
	t.Cleanup(a.public.Close)
	t.Cleanup(a.admin.Close)
	return a
}

// want sends n requests with a key ("" for none), each of which must get the
// status and a body with the text.
func (a *app) want(n, status int, key, text string) {
	a.Helper()
	for i := range n {
		req, err := http.NewRequestWithContext(a.Context(), "GET", a.public.URL, nil)
		if err != nil {
			a.Fatal(err)
		}
		if key != "" {
			req.Header.Set("X-Api-Key", key)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			a.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != status || !strings.Contains(string(body), text) {
			a.Fatalf("request %d of %d with key %q: %s %q %v, want %d %q", i+1, n, key, resp.Status, body, err, status, text)
		}
	}
}

// change gives an account another plan.
func (a *app) change(status int, account, plan string) {
	a.Helper()
	resp, err := http.PostForm(a.admin.URL+"/accounts/"+account, url.Values{"plan": {plan}})
	if err != nil {
		a.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != status {
		a.Fatalf("plan %s for %s: %s, want %d", plan, account, resp.Status, status)
	}
}

func (a *app) wait(d time.Duration) { a.clock.Add(int64(d)) }

const unavailable = "temporary-reduced-capacity"

func TestEachAccountHasItsPlan(t *testing.T) {
	a := start(t)
	a.want(10, 200, "ann-key", "hello ann\n")
	a.want(1, 429, "ann-key", "")
	a.want(10, 200, "bob-key", "hello bob\n")
	a.want(1, 429, "bob-key", "")
}

func TestUnknownKeysShareTheAnonymousPlan(t *testing.T) {
	a := start(t)
	a.want(1, 200, "", "hello \n")
	a.want(1, 200, "no such key", "hello \n")
	a.want(1, 200, "nor this one", "hello \n")
	a.want(1, 429, "another one", "")
	a.want(1, 429, "", "")
	a.want(1, 200, "ann-key", "hello ann\n")
}

func TestAnUpgradeTakesEffectAtOnce(t *testing.T) {
	a := start(t)
	a.want(10, 200, "ann-key", "hello ann")
	a.want(1, 429, "ann-key", "")
	a.change(200, "ann", "pro")
	a.want(90, 200, "ann-key", "hello ann") // ten of the hundred are used
	a.want(1, 429, "ann-key", "")
	a.want(10, 200, "bob-key", "hello bob")
	a.want(1, 429, "bob-key", "")
	a.change(404, "ann", "gold")
	a.change(404, "eve", "pro")
}

func TestAFailingDatabaseRefusesWhomItDoesNotKnow(t *testing.T) {
	a := start(t)
	a.want(1, 200, "ann-key", "hello ann")
	a.db.Close()
	a.want(1, 503, "bob-key", unavailable)
	a.want(1, 503, "no such key", unavailable)
	a.want(3, 200, "", "hello \n") // needs no database
	a.want(5, 200, "ann-key", "hello ann")
	a.wait(cachedFor)
	a.want(1, 503, "ann-key", unavailable)
	a.change(503, "ann", "pro")
}

func TestAPlanThatCanNotBeReadIsAFailure(t *testing.T) {
	a := start(t)
	if _, err := a.db.Exec("UPDATE plans SET rate = 'lots' WHERE name = 'free'"); err != nil {
		t.Fatal(err)
	}
	a.want(1, 503, "ann-key", unavailable)
}

func TestGuessedKeysAreNotLookedUpForEver(t *testing.T) {
	a := start(t)
	a.want(1, 200, "bob-key", "hello bob")
	a.want(3, 200, "guess", "hello \n")
	a.want(26, 429, "guess", "")
	a.db.Close() // from here on, a lookup would answer 503
	a.want(9, 429, "guess", "")
	a.want(1, 429, "ann-key", "")
	a.want(1, 200, "bob-key", "hello bob")
	a.wait(2 * time.Minute)
	a.want(1, 503, "guess", unavailable)
}

func TestTheCacheIsBoundedAndForgets(t *testing.T) {
	now := time.Unix(0, 0)
	c := newCache(2, time.Minute, func() time.Time { return now })
	key := func(s string) digest { return sha256.Sum256([]byte(s)) }
	put := func(s string) { c.put(key(s), account{name: s}, c.version()) }
	has := func(want string) {
		t.Helper()
		var got string
		for _, s := range []string{"a", "b", "c"} {
			if found, ok := c.get(key(s)); ok {
				got += found.name
			}
		}
		if got != want || len(c.entries) != c.order.Len() {
			t.Errorf("has %q, want %q", got, want)
		}
	}
	put("a")
	put("b")
	c.get(key("a"))
	put("c") // b was not used for the longest
	has("ac")
	c.forget(key("a"))
	has("c")
	before := c.version()
	c.forget(key("a")) // a change, while the database answers what was before
	c.put(key("a"), account{name: "stale"}, before)
	has("c")
	put("c")
	put("a")
	has("ac")
	now = now.Add(time.Minute)
	has("")
	if len(c.entries) != 0 {
		t.Errorf("%d entries kept beyond their time", len(c.entries))
	}
}
