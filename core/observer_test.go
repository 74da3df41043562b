package core_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// A diary keeps what it is told.
type diary struct {
	mu     sync.Mutex
	events []core.Event
	ids    []string
}

func (d *diary) Observe(e core.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events, d.ids = append(d.events, e), append(d.ids, e.Identity())
}

// read is what was told since it was read last, in a few words each.
func (d *diary) read() (words []string) {
	for _, e := range d.events {
		words = append(words, e.Kind.String()+" "+e.Policy)
	}
	d.events, d.ids = nil, nil
	return words
}

func TestObserverIsTold(t *testing.T) {
	var told diary
	b := &counted{Backend: memory.New()}
	l := configured(t, core.Config{Backend: b, Observer: &told, Policies: []core.Policy{
		{Name: "api", Rate: "2/d", Strategy: core.MovingWindow{}, Candidate: &core.Candidate{Rate: "1/d"},
			Ban: &core.Ban{After: 2, Within: time.Hour, For: time.Hour}},
		{Name: "soft", Rate: "2/d", Strategy: core.MovingWindow{}, Mode: core.Annotate},
	}})
	n := get("192.0.2.1")
	expect := func(words ...string) {
		t.Helper()
		if got := told.read(); !slices.Equal(got, words) {
			t.Errorf("told %q, not %q", got, words)
		}
	}
	visit(l, n)
	expect("decided api")
	visit(l, n)
	expect("disagreed api", "decided api")
	if _, err := l.PeekRequest(n); err != nil { // a look is no decision
		t.Fatal(err)
	}
	if _, err := l.Peek(t.Context(), "api", keyOf("192.0.2.1"), 1); err != nil {
		t.Fatal(err)
	}
	expect()
	visit(l, n)
	expect("decided api", "refused api", "refused soft")
	visit(l, n)
	expect("decided api", "refused api", "banned api", "refused soft")
	if err := l.Ban(t.Context(), "api", job, time.Minute); err != nil {
		t.Fatal(err)
	}
	expect("banned api")
	if _, err := l.Allow(t.Context(), "soft", job, 1); err != nil {
		t.Fatal(err)
	}
	expect("decided soft")
	_, r, err := l.Reserve(t.Context(), "soft", job, 1)
	if err != nil || r.Cancel(t.Context()) != nil {
		t.Fatal(err)
	}
	if e := told.events[1]; e.Units != -1 {
		t.Errorf("%+v", e)
	}
	expect("decided soft", "settled soft")
	b.broken = core.ErrUnavailable
	visit(l, n)
	if e := told.events[1]; !e.Degraded || e.Mode != core.FailClosed || e.Err == nil {
		t.Errorf("%+v", e)
	}
	if got := told.read(); !slices.Contains(got, "mode api") || !slices.Contains(got, "failed api") {
		t.Errorf("%q", got)
	}
}

// Who is on a list, or has no limit, is decided about too; and a request of which
// nothing could be decided is no decision.
func TestObserverIsToldOfTheOthers(t *testing.T) {
	var told diary
	var deny core.List
	b := &counted{Backend: memory.New()}
	l := configured(t, core.Config{Backend: b, Observer: &told, DenyList: &deny, Logger: slog.New(slog.DiscardHandler), Policies: []core.Policy{
		{Name: "api", Rate: "2/d", Methods: []string{"GET"}}, {Name: "free", Rate: "none"}}})
	expect := func(words ...string) {
		t.Helper()
		if got := told.read(); !slices.Equal(got, words) {
			t.Errorf("told %q, not %q", got, words)
		}
	}
	eve := core.NewKey("user", "eve")
	if err := deny.Add(core.Entries{Keys: []core.Key{eve}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		d, err := l.Allow(t.Context(), "api", eve, 1)
		if err != nil || !d.Denied {
			t.Fatal(d, err)
		}
		expect("decided ")
		if _, err := l.Peek(t.Context(), "api", eve, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Peek(t.Context(), "free", job, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := l.PeekRequest(method{get("192.0.2.1"), "POST"}); err != nil {
			t.Fatal(err)
		}
		expect()
		if _, err := l.Allow(t.Context(), "free", job, 1); err != nil {
			t.Fatal(err)
		}
		expect("decided ")
	}
	b.broken = core.ErrProtocol
	visit(l, get("192.0.2.1"))
	if _, err := l.AllowRequest(get("192.0.2.1")); err == nil {
		t.Error("no error")
	}
	if _, err := l.Allow(t.Context(), "api", job, 1); err == nil {
		t.Error("no error")
	}
	want := []string{"failed api", "decided api"}
	expect(slices.Concat(want, want, want)...)
}

// method is a request of another method.
type method struct {
	core.Native
	name string
}

func (m method) Method() string { return m.name }

// The identity is that of the cells in a store, never the key.
func TestObserverSeesNoKey(t *testing.T) {
	var told diary
	secret := []byte("0123456789abcdef")
	l := configured(t, core.Config{Observer: &told, Secret: secret, Policies: []core.Policy{{Name: "api", Rate: "0/s"}}})
	visit(l, get("192.0.2.1"))
	naming, err := core.NewNaming(core.Naming{Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	key := keyOf("192.0.2.1")
	if want := []string{"", naming.DigestOf(&key).String()}; !slices.Equal(told.ids, want) {
		t.Errorf("%q, not %q", told.ids, want)
	}
	told.read()
	if _, err := l.Allow(t.Context(), "api", core.NewKey("user", "bob"), 1); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v", told.events); strings.Contains(text, "bob") || !strings.Contains(text, "refused api "+told.ids[1]) {
		t.Error(text)
	}
}

type clumsy struct{}

func (clumsy) Observe(core.Event) { panic("oops") }

// An Observer that panics harms nobody.
func TestObserverPanics(t *testing.T) {
	l := configured(t, core.Config{Observer: clumsy{}, Policies: []core.Policy{{Name: "api", Rate: "1/d"}}})
	if n := admitted(l, 3, func() core.Native { return get("192.0.2.1") }); n != 1 {
		t.Errorf("%d admitted", n)
	}
}

// A flood of refusals, of one identity or of many, is a few lines a second, and
// those left out are counted.
func TestLogObserverIsNotFlooded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := configured(t, core.Config{Observer: core.NewLogObserver(slog.New(slog.NewTextHandler(&out, nil))),
			Policies: []core.Policy{{Name: "api", Rate: "0/s"}}})
		flood := func(identities int) (lines int) {
			out.Reset()
			for i := range 1000 {
				if _, err := l.Allow(t.Context(), "api", core.NewKey("user", fmt.Sprint("bob", i%identities)), 1); err != nil {
					t.Fatal(err)
				}
			}
			return strings.Count(out.String(), "\n")
		}
		if n := flood(1); n != 1 {
			t.Errorf("%d lines about one identity", n)
		}
		if n := flood(1); n != 0 {
			t.Errorf("%d more in the same second", n)
		}
		time.Sleep(time.Second)
		if n := flood(1000); n != 20 || !strings.Contains(out.String(), "left_out=1999") {
			t.Errorf("%d lines about a thousand: %s", n, out.String())
		}
		if text := out.String(); !strings.Contains(text, `level=INFO msg="request refused"`) || !strings.Contains(text, "policy=api") ||
			strings.Contains(text, "bob") {
			t.Error(text)
		}
	})
}

// Who does not want Info pays nothing for it.
func TestLogObserverAsksForTheLevel(t *testing.T) {
	var out bytes.Buffer
	o := core.NewLogObserver(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})))
	o.Observe(core.Event{Kind: core.EventRefused})
	if out.Len() > 0 {
		t.Error(out.String())
	}
}
