package memcachedlimit

import (
	"testing"
	"time"

	"github.com/stint-go/stint/internal/servers"
)

// within is a backend on these servers with that time-out.
func within(t testing.TB, timeout time.Duration, all ...*servers.Server) *Backend {
	t.Helper()
	var addrs []string
	for _, s := range all {
		addrs = append(addrs, s.Addr())
	}
	b, err := New(addrs, Options{Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func work() {}
