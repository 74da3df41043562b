package main

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

// An app is the program as it runs, on an instant that does not move.
type app struct {
	*testing.T
	public, admin string // base URLs
	file          string
	stop          func() error
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

var secret = []byte("0123456789abcdef")

func start(t *testing.T, framework string, queue int) *app {
	t.Helper()
	a := &app{T: t, file: filepath.Join(t.TempDir(), "denials 100%.db")}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- run(ctx, config{
			framework: framework, file: a.file, public: "127.0.0.1:0", admin: "127.0.0.1:0", secret: secret,
			queue: queue, now: func() time.Time { return noon }, grace: 10 * time.Second,
			ready: func(public, admin string) {
				a.public, a.admin = "http://"+public, "http://"+admin
				close(ready)
			},
		})
	}()
	a.stop = sync.OnceValue(func() error {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := a.stop(); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	return a
}

// login sends n logins and counts those that are refused.
func (a *app) login(n int, name string) (refused int) {
	a.Helper()
	for range n {
		resp, err := http.PostForm(a.public+"/login", url.Values{"username": {name}})
		if err != nil {
			a.Error(err)
			return
		}
		resp.Body.Close()
		if resp.StatusCode == 429 {
			refused++
		}
	}
	return refused
}

func (a *app) get(u string) string {
	a.Helper()
	resp, err := http.Get(u)
	if err != nil {
		a.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		a.Fatal(err)
	}
	return string(b)
}

// rows are those in the file, the newest first.
func (a *app) rows() []Denial {
	a.Helper()
	s, err := open(a.file, keep)
	if err != nil {
		a.Fatal(err)
	}
	defer s.db.Close()
	list, err := s.last(a.Context(), 1e6)
	if err != nil {
		a.Fatal(err)
	}
	return list
}

func TestOneRowPerDenialInEveryFramework(t *testing.T) {
	naming, err := core.NewNaming(core.Naming{Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	key := core.KeyOfPrefix(netip.MustParsePrefix("127.0.0.1/32"))
	address := naming.DigestOf(&key).String()
	identities := map[string]bool{}
	for _, framework := range []string{"gin", "echo", "fiber"} {
		t.Run(framework, func(t *testing.T) {
			a := start(t, framework, 100)
			if got := a.login(7, "alice") + a.login(6, "bob"); got != 3 {
				t.Fatalf("%d logins refused, want 3", got)
			}
			for range 62 {
				a.get(a.public + "/")
			}
			if err := a.stop(); err != nil {
				t.Fatal(err)
			}
			rows := a.rows()
			if len(rows) != 5 {
				t.Fatalf("%d rows, want 5: %+v", len(rows), rows)
			}
			for _, d := range rows[:2] {
				if want := (Denial{noon, "everyone", "60/m", address, "/", 60}); d != want {
					t.Errorf("row %+v\nwant %+v", d, want)
				}
			}
			for _, d := range rows[2:] {
				if d.Policy != "login" || d.Rate != "5/15m" || d.Route != "/login" || d.Consumed != 5 {
					t.Errorf("row %+v", d)
				}
				identities[d.Identity] = true
			}
			if rows[2].Identity == rows[3].Identity || rows[3].Identity != rows[4].Identity || rows[3].Identity == address {
				t.Errorf("identities of %+v, want one for each pair of address and name", rows)
			}
		})
	}
	if len(identities) != 2 {
		t.Errorf("identities %v, want the same two in every framework", identities)
	}
}

func TestThePageShowsDenialsAndNobody(t *testing.T) {
	a := start(t, "gin", 100)
	a.login(6, "alice@example.com")
	body := a.get(a.admin)
	for range 10_000 { // it is written in a moment
		if strings.Contains(body, "1 written") {
			break
		}
		body = a.get(a.admin)
	}
	if !strings.Contains(body, "2026-05-01 12:00:00.000<td>login<td>5/15m<td>") || !strings.Contains(body, "<td>/login<td>5\n") {
		t.Errorf("%s", body)
	}
	if strings.Contains(body, "127.0.0.1") || strings.Contains(body, "alice") {
		t.Errorf("the page tells who it was:\n%s", body)
	}
	if got := a.get(a.public + "/denials"); strings.Contains(got, "login") {
		t.Errorf("the page is public: %s", got)
	}
}

func TestThePageEscapes(t *testing.T) {
	a := start(t, "gin", 1)
	s, err := open(a.file, keep)
	if err != nil {
		t.Fatal(err)
	}
	defer s.db.Close()
	if err := s.insert(t.Context(), []Denial{{Route: "<script>alert(1)</script>"}}); err != nil {
		t.Fatal(err)
	}
	if body := a.get(a.admin); strings.Contains(body, "<script>") || !strings.Contains(body, "&lt;script&gt;") {
		t.Errorf("%s", body)
	}
}

func TestNoRowIsLostAtTheEnd(t *testing.T) {
	for _, framework := range []string{"gin", "echo", "fiber"} {
		t.Run(framework, func(t *testing.T) {
			a := start(t, framework, 4096)
			var refused atomic.Int64
			var clients sync.WaitGroup
			for range 8 {
				clients.Go(func() { refused.Add(int64(a.login(100, "alice"))) })
			}
			clients.Wait()
			if err := a.stop(); err != nil {
				t.Fatal(err)
			}
			if n := int64(len(a.rows())); n != refused.Load() || n != 795 {
				t.Errorf("%d rows of %d refusals, want 795", n, refused.Load())
			}
		})
	}
}

func TestADatabaseThatIsStuckSlowsNoRequestDown(t *testing.T) {
	a := start(t, "gin", 10)
	unlock := lock(t, a.file)
	if got := a.login(55, "alice"); got != 50 { // all answered, though nothing can be written
		t.Errorf("%d refused, want 50", got)
	}
	if body := a.get(a.admin); strings.Contains(body, ", 0 dropped") || !strings.Contains(body, "0 written, ") {
		t.Errorf("%s", body)
	}
	unlock()
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	if n := len(a.rows()); n < 11 || n > 21 {
		t.Errorf("%d rows; want what was in the queue and in the writer's hands", n)
	}
}

func TestOldRowsGiveWay(t *testing.T) {
	s, err := open(filepath.Join(t.TempDir(), "denials.db"), 3)
	if err != nil {
		t.Fatal(err)
	}
	defer s.db.Close()
	for _, route := range []string{"a", "b", "c", "d"} {
		if err := s.insert(t.Context(), []Denial{{Route: route + "1"}, {Route: route + "2"}}); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := s.last(t.Context(), 10)
	if err != nil || len(rows) != 3 || rows[0].Route != "d2" || rows[2].Route != "c2" {
		t.Errorf("%+v %v, want the last three", rows, err)
	}
}

// lock keeps everybody else from writing to the database.
func lock(t *testing.T, file string) (unlock func()) {
	t.Helper()
	s, err := open(file, keep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close() })
	var tx *sql.Tx
	if tx, err = s.db.Begin(); err != nil { // immediate: it locks at once
		t.Fatal(err)
	}
	return func() { tx.Rollback() }
}
