package matrix

import (
	"sync"
	"testing"
	"time"

	memcachedlimit "github.com/stint-go/stint/backends/memcached"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// memcacheds are the servers that no test uses at the moment: memcached has
// nothing that keeps the items of one backend apart from those of another.
var memcacheds struct {
	sync.Mutex
	idle []*servers.Server
}

// openMemcached is a backend on a server of its own, which it leaves to the next
// one.
func openMemcached(tb testing.TB) core.Backend {
	tb.Helper()
	s := takeMemcached()
	tb.Cleanup(func() {
		memcacheds.Lock()
		defer memcacheds.Unlock()
		memcacheds.idle = append(memcacheds.idle, s)
	})
	s.Tell("flush_all")
	b, err := memcachedlimit.New([]string{s.Addr()}, memcachedlimit.Options{Timeout: 20 * time.Second}) // for tests of anything but time-outs
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { b.Close() })
	return b
}

func takeMemcached() *servers.Server {
	memcacheds.Lock()
	defer memcacheds.Unlock()
	last := len(memcacheds.idle) - 1
	if last < 0 {
		return servers.Memcached(shared)
	}
	s := memcacheds.idle[last]
	memcacheds.idle = memcacheds.idle[:last]
	return s
}
