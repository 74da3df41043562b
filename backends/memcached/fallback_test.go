package memcachedlimit

import (
	"context"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// While memcached is down each policy does what its OnFailure says, and the
// fallback is this process's own memory.
func TestFallback(t *testing.T) {
	s := servers.Memcached(t)
	b := within(t, 500*time.Millisecond, s)
	l, err := core.New(core.Config{Backend: b, Instances: 2, Policies: []core.Policy{
		{Name: "api", Rate: "4/h"},
		{Name: "login", Rate: "4/h", OnFailure: core.FailClosed},
		{Name: "open", Rate: "1/h", OnFailure: core.FailOpen},
	}})
	if err != nil {
		t.Fatal(err)
	}
	admitted := func(policy string) (n int, last core.Decision) {
		t.Helper()
		for range 6 {
			d, err := l.Allow(context.Background(), policy, core.NewKey("job", "bob"), 1)
			if last = d; err != nil && policy != "login" {
				t.Fatal(policy, err)
			}
			if d.Allowed {
				n++
			}
		}
		return n, last
	}
	s.Kill()
	for policy, want := range map[string]int{"api": 2, "login": 0, "open": 6} {
		if n, d := admitted(policy); n != want || !d.Degraded || d.Cause != core.ClassUnavailable {
			t.Errorf("while memcached is down %s admits %d, want %d: %+v", policy, n, want, d)
		}
	}
	s.Start()
	s.WaitMemcached()
	for policy, want := range map[string]int{"api": 4, "login": 4, "open": 1} {
		if n, d := admitted(policy); n != want || d.Degraded {
			t.Errorf("when it is back %s admits %d, want %d: %+v", policy, n, want, d)
		}
	}
}

func TestFallbackIsMadeOnce(t *testing.T) {
	b, other := dialling(t, time.Second, "127.0.0.1:1"), dialling(t, time.Second, "127.0.0.1:1")
	if f := b.Fallback(); f == nil || f != b.Fallback() {
		t.Error("another one every time")
	}
	if b.Fallback() == other.Fallback() {
		t.Error("two backends share it")
	}
}
