package memcachedlimit

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

const (
	// DefaultTimeout is how long a call may take where Options say nothing.
	DefaultTimeout = 50 * time.Millisecond
	// DefaultMaxIdleConns is how many connections to each server are kept for the
	// next calls where Options say nothing. memcached itself takes 1024 unless it
	// is told otherwise (-c).
	DefaultMaxIdleConns = 64
)

// Options are the settings of a Backend. The zero value is ready to use.
type Options struct {
	// Timeout bounds every call with all that belongs to it, however many round
	// trips it takes: dialling, sending, waiting for replies. 0 is DefaultTimeout.
	// The deadline of the caller's context counts where it is earlier; its
	// cancellation does not, once the call has begun: who hangs up pays.
	Timeout time.Duration
	// MaxIdleConns is how many connections to each server are kept for the next
	// calls. Let it be the most calls that are under way at once: each beyond it
	// dials anew. 0 is DefaultMaxIdleConns.
	MaxIdleConns int
}

// A Backend keeps cells in memcached. It is safe for concurrent use and has no
// goroutine of its own.
type Backend struct {
	timeout time.Duration
	lanes   lanes
	clock   clock
	// fallback decides while memcached is down, in this process alone.
	fallback func() core.Backend
}

var (
	_ core.Backend          = (*Backend)(nil)
	_ core.FallbackProvider = (*Backend)(nil)
)

// New returns a Backend on the servers at these addresses, each "host:port" or
// the path of a Unix socket. All cells are spread over all servers by the hash
// that gomemcache uses, so every process has to name the same servers in the
// same order. It does no I/O: memcached may still be down, and host names are
// resolved when they are dialled.
func New(servers []string, o Options) (*Backend, error) {
	list, errs := newServerList(servers)
	b, err := NewFromSelector(list, o)
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return b, nil
}

// NewFromSelector is New for servers that a selector of gomemcache picks, such
// as a *memcache.ServerList whose servers change, or a ring of your own. It is
// asked with the name of a cell, and all that belongs to the cell goes to the
// server that it answers.
func NewFromSelector(s memcache.ServerSelector, o Options) (*Backend, error) {
	var errs []error
	if s == nil {
		errs = append(errs, errors.New("memcachedlimit: the server selector is nil"))
	}
	if o.Timeout < 0 {
		errs = append(errs, fmt.Errorf("memcachedlimit: timeout %v is negative: use 0 for %v", o.Timeout, DefaultTimeout))
	}
	if o.MaxIdleConns < 0 {
		errs = append(errs, fmt.Errorf("memcachedlimit: %d idle connections are not possible: use 0 for %d", o.MaxIdleConns, DefaultMaxIdleConns))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxIdleConns == 0 {
		o.MaxIdleConns = DefaultMaxIdleConns
	}
	return &Backend{
		timeout:  o.Timeout,
		lanes:    lanes{selector: byCell{s}, timeout: o.Timeout, most: o.MaxIdleConns},
		fallback: sync.OnceValue(func() core.Backend { return memory.New() }),
	}, nil
}

// Fallback implements core.FallbackProvider: a memory.New() of this Backend's own,
// made when it is needed first.
func (b *Backend) Fallback() core.Backend { return b.fallback() }

// Close closes the connections that are idle. A Backend may be used after it:
// then it dials again.
func (b *Backend) Close() error { return b.lanes.close() }
