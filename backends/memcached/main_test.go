package memcachedlimit

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/stint-go/stint/internal/servers"
)

// shared are servers that many tests use at once, started when first asked for.
var shared struct {
	single func() *servers.Server
	three  func() []*servers.Server

	mu  sync.Mutex
	all []*servers.Server // to be looked through at the end
}

func TestMain(m *testing.M) {
	if os.Getenv("STINT_WORKER") != "" {
		work()
		return
	}
	p, err := servers.Shared()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared.single = sync.OnceValue(func() *servers.Server { return watch(servers.Memcached(p))[0] })
	shared.three = sync.OnceValue(func() []*servers.Server {
		return watch(servers.Memcached(p), servers.Memcached(p), servers.Memcached(p))
	})
	code := m.Run()
	for _, s := range shared.all {
		for _, what := range unfit(s) {
			fmt.Fprintf(os.Stderr, "on %s: %s\n", s.Addr(), what)
			code = 1
		}
	}
	if err := p.Close(code != 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func watch(all ...*servers.Server) []*servers.Server {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.all = append(shared.all, all...)
	return all
}

// patient is a time-out for tests of anything but time-outs, on busy machines.
const patient = 20e9

// on is a backend on these servers.
func on(t testing.TB, all ...*servers.Server) *Backend {
	t.Helper()
	return within(t, patient, all...)
}

// long tells whether the long runs were asked for.
func long() bool { return os.Getenv("STINT_LONG") == "1" }

// count is a number from the environment.
func count(name string, short, full int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	if long() {
		return full
	}
	return short
}
