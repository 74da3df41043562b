package policyfile

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// native adds to a request what a Native has besides.
type native struct{ request }

func (native) Context() context.Context     { return context.Background() }
func (native) HeaderValues(string) []string { return nil }
func (native) Unwrap() any                  { return nil }

// A live is a file on disk, its Limits, and what was told about them.
type live struct {
	*Limits
	t      *testing.T
	path   string
	events []Event
}

func open(t *testing.T, text string) *live {
	t.Helper()
	l := &live{t: t, path: filepath.Join(t.TempDir(), "limits.yaml")}
	l.write(text)
	var err error
	l.Limits, err = Open(l.path, core.Config{Backend: memory.New()}, Options{Event: func(e Event) { l.events = append(l.events, e) }})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *live) write(text string) {
	l.t.Helper()
	if err := os.WriteFile(l.path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// allowed is how many of ten requests pass, and what remains then.
func (l *live) allowed(ip string) (n int) {
	for range 10 {
		if decide(l.t, l.Limiter(), request{ip: ip}).Allowed {
			n++
		}
	}
	return n
}

const one = "policies: [{name: api, rate: %s, strategy: moving-window, on_change: %s}]"

func TestWhatIsConsumedIsKeptOrReset(t *testing.T) {
	for choice, want := range map[string][3]int{"keep": {2, 3, 0}, "reset": {2, 5, 2}} {
		l := open(t, fmt.Sprintf(one, "2/h", choice))
		var got [3]int
		got[0] = l.allowed("192.0.2.1")
		l.write(fmt.Sprintf(one, "5/h", choice))
		if err := l.Reload(); err != nil {
			t.Fatal(err)
		}
		got[1] = l.allowed("192.0.2.1")
		l.write("# a note\n" + fmt.Sprintf(one, "5/h", choice))
		if err := l.Reload(); err != nil {
			t.Fatal(err)
		}
		if n := l.allowed("192.0.2.1"); n != 0 {
			t.Errorf("%s: a note in the file let %d more pass", choice, n)
		}
		l.write(fmt.Sprintf(one, "2/h", choice)[:len(fmt.Sprintf(one, "2/h", choice))-2] + ", cost: 1}]")
		if err := l.Reload(); err != nil {
			t.Fatal(err)
		}
		got[2] = l.allowed("192.0.2.1")
		if got != want {
			t.Errorf("%s: %v pass, want %v", choice, got, want)
		}
		if len(l.events) != 3 || !slices.Equal(l.events[0].Changed, []string{"api"}) || l.events[1].Changed != nil {
			t.Errorf("%s: events %+v", choice, l.events)
		}
	}
}

// An override comes and goes without a reset.
func TestOverridesKeepWhatIsConsumed(t *testing.T) {
	l := open(t, fmt.Sprintf(one, "2/h", "reset"))
	l.allowed("192.0.2.1")
	l.write(`policies: [{name: api, rate: 2/h, strategy: moving-window, on_change: reset,
  overrides: [{match: {ip: 192.0.2.1}, times: 2, until: 2999-01-01T00:00:00Z}]}]`)
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
	if n := l.allowed("192.0.2.1"); n != 2 {
		t.Errorf("%d more pass, want 2: four, less the two that passed before", n)
	}
}

// Outside of requests a key is given as it is; Key says how it is counted.
func TestKeysOutsideOfRequests(t *testing.T) {
	for _, choice := range []string{"keep", "reset"} {
		l := open(t, fmt.Sprintf(one, "2/h", choice))
		l.allowed("192.0.2.1")
		key := l.File().Key("api", core.KeyOfPrefix(netip.MustParsePrefix("192.0.2.1/32")))
		if d, err := l.Limiter().Peek(t.Context(), "api", key, 1); err != nil || d.Allowed {
			t.Errorf("%s: %+v %v, want it refused as the client was", choice, d, err)
		}
	}
}

func TestABadFileKeepsTheOldPolicies(t *testing.T) {
	l := open(t, "policies: [{name: api, rate: 3/h}]")
	before := l.Limiter()
	for _, bad := range []string{"policies: [{name: api, rate: 3/x}]", "policies: [", ""} {
		l.events = nil
		l.write(bad)
		err := l.Reload()
		var problems Problems
		if !errors.As(err, &problems) || problems[0].File != l.path || len(l.events) != 1 || l.events[0].Err == nil {
			t.Errorf("%q: %v, events %+v", bad, err, l.events)
		}
		if l.Limiter() != before {
			t.Errorf("%q: the policies were replaced", bad)
		}
	}
	os.Remove(l.path)
	if err := l.Reload(); !errors.Is(err, os.ErrNotExist) || l.Limiter() != before {
		t.Errorf("no file: %v", err)
	}
	if n := l.allowed("192.0.2.1"); n != 3 {
		t.Errorf("%d pass, want 3 as before", n)
	}
	l.write("policies: [{name: api, rate: 3/h}]")
	l.events = nil
	if err := l.Reload(); err != nil || len(l.events) > 0 || l.Limiter() != before {
		t.Errorf("the old file again: %v, events %+v; want nothing to happen", err, l.events)
	}
}

func TestOpenWantsAGoodFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.yaml")
	config := core.Config{Backend: memory.New()}
	if _, err := Open(path, config, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	os.WriteFile(path, []byte("policies: [{name: api, rate: 3/h, key: user}]"), 0o600)
	if _, err := Open(path, config, Options{}); err == nil || !strings.Contains(err.Error(), "Config.User") {
		t.Errorf("a key by user without users: %v", err)
	}
	config.User = nobody
	if _, err := Open(path, config, Options{Hooks: map[string]core.Hooks{"login": core.Base{}}}); err == nil || !strings.Contains(err.Error(), `no policy "login"`) {
		t.Errorf("hooks for nobody: %v", err)
	}
}

// What is mounted follows the file, and is made once per version.
func TestMountFollows(t *testing.T) {
	l := open(t, "policies: [{name: api, rate: 3/h}]")
	made := 0
	limit := Mount(l.Limits, func(m *core.Limiter) *core.Limiter { made++; return m })
	for range 3 {
		if limit() != l.Limiter() {
			t.Error("another Limiter is mounted")
		}
	}
	l.write("policies: [{name: api, rate: 4/h}]")
	if err := l.Reload(); err != nil || limit() != l.Limiter() || made != 2 {
		t.Errorf("%v, mounted %d times", err, made)
	}
}

func TestWatchSeesChangesAndComplainsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, "policies: [{name: api, rate: 3/h}]")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { l.Watch(ctx, time.Second); close(done) }()
		wait := func() { time.Sleep(10 * time.Second); synctest.Wait() }
		wait()
		if len(l.events) != 0 {
			t.Fatalf("events without a change: %+v", l.events)
		}
		l.write("policies: [{name: other, rate: 4/h}]")
		wait()
		if len(l.events) != 1 || !slices.Equal(l.events[0].Added, []string{"other"}) || !slices.Equal(l.events[0].Removed, []string{"api"}) {
			t.Fatalf("events after a change: %+v", l.events)
		}
		l.write("policies: [{name: other, rate: 4/x}]")
		wait()
		l.write("policies: [{name: other, rate: 5/x}]")
		wait()
		if len(l.events) != 3 || l.events[1].Err == nil || l.events[2].Err == nil {
			t.Fatalf("events after two wrong files: %+v", l.events)
		}
		cancel()
		<-done
	})
}

// No request sees some of the old and some of the new policies, whatever happens
// at once.
func TestNoRequestSeesAMix(t *testing.T) {
	text := func(n int) string {
		return fmt.Sprintf("policies: [{name: a, rate: %d/h}, {name: b, rate: %d/h}, {name: c, rate: %d/h}]", n, n, n)
	}
	l := open(t, text(1000))
	limit := Mount(l.Limits, func(m *core.Limiter) *core.Limiter { return m })
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				var limits []int64
				for e := range decide(t, limit(), request{ip: "192.0.2.1"}).Entries() {
					limits = append(limits, e.Limit)
				}
				if len(limits) != 3 || limits[0] != limits[1] || limits[1] != limits[2] {
					t.Errorf("limits %v in one decision", limits)
					return
				}
			}
		})
	}
	for i := range 200 {
		l.write(text(1000 + i))
		if err := l.Reload(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}
