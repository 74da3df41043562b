package redislimit

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/backends/internal/breaker"
	"github.com/stint-go/stint/backends/internal/denycache"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// DefaultTimeout is how long an operation may take where Options say nothing.
const DefaultTimeout = 50 * time.Millisecond

// Options are the settings of a Backend. The zero value is ready to use.
type Options struct {
	// Timeout bounds every call, with all that belongs to it: waiting for a
	// connection, dialling, sending, waiting for the reply. 0 is DefaultTimeout.
	// The deadline of the caller's context counts where it is earlier; its
	// cancellation does not, once the call has begun: who hangs up pays.
	Timeout time.Duration
	// BreakAfter is how many calls to a server fail in a row, about two keys at
	// least, before the breaker opens: calls then return ErrOpen at once. 0 is 5,
	// below 0 is never. Only what fails on the way to the server and back counts,
	// and only where no other call was answered meanwhile.
	BreakAfter int
	// ProbeEvery is how often one call goes to a server whose breaker is open; the
	// first one that is answered closes it. 0 is 500 ms.
	ProbeEvery time.Duration
	// DenyCache is how many refused keys are remembered, so that they are refused
	// again without asking Redis; 0 is 16384, about 1.2 MB once something was
	// refused; below 0 is none.
	DenyCache int
	// DenyFor is how long one is remembered at most, even if it has to wait for
	// longer: what another process resets or refunds is noticed after that. 0 is a
	// second.
	DenyFor time.Duration
}

// A Backend keeps cells in Redis. It is safe for concurrent use.
type Backend struct {
	client  redis.UniversalClient
	via     commander // what commands are sent through: the client, or what makes it obey
	timeout time.Duration
	slotOf  func(tag []byte) uint64 // where the cells of an identity live; nil: all in one place
	plans   planCache
	reload  reloader
	guards  guards
	denied  *denycache.Cache // nil: off
	// fallback decides while Redis is down, in this process alone.
	fallback func() core.Backend
}

var (
	_ core.Backend          = (*Backend)(nil)
	_ core.FallbackProvider = (*Backend)(nil)
)

// New returns a Backend on a client that is already built: a *redis.Client (of
// one server, or redis.NewFailoverClient's), a *redis.ClusterClient or a
// *redis.Ring. It does no I/O: Redis may still be down. It does not close the
// client.
//
// The client must honour deadlines, or a server that hangs would hang its
// callers: a ClusterClient or Ring needs ContextTimeoutEnabled in its options
// and is refused without it. For a *redis.Client without it New sees to that
// itself, for this Backend's commands alone; of the client's hooks, those see them
// that were added before.
func New(client redis.UniversalClient, o Options) (*Backend, error) {
	b := &Backend{client: client, via: client, timeout: o.Timeout, plans: planCache{most: maxPlans},
		fallback: sync.OnceValue(func() core.Backend { return memory.New() })}
	if o.Timeout == 0 {
		b.timeout = DefaultTimeout
	}
	b.guards.settings = breaker.Settings{Failures: o.BreakAfter, Interval: o.ProbeEvery}
	if o.DenyCache >= 0 {
		b.denied = denycache.New(denycache.Settings{Size: o.DenyCache, Age: o.DenyFor})
	}
	var errs []error
	if o.Timeout < 0 {
		errs = append(errs, fmt.Errorf("redislimit: timeout %v is negative: use 0 for %v", o.Timeout, DefaultTimeout))
	}
	if o.ProbeEvery < 0 {
		errs = append(errs, fmt.Errorf("redislimit: probe every %v: use 0 for %v", o.ProbeEvery, breaker.DefaultInterval))
	}
	if o.DenyFor < 0 {
		errs = append(errs, fmt.Errorf("redislimit: deny for %v: use 0 for %v, or a DenyCache below 0 for none", o.DenyFor, denycache.DefaultAge))
	}
	switch c := client.(type) {
	case *redis.Client:
		if c == nil {
			return nil, errNoClient
		}
		opt := c.Options()
		if deadlines("", opt.ContextTimeoutEnabled, opt.ReadTimeout, opt.WriteTimeout) != nil {
			b.via = obeying(c, b.timeout)
		}
		b.guards.one = b.guards.newGuard(c)
	case *redis.ClusterClient:
		if c == nil {
			return nil, errNoClient
		}
		opt := c.Options()
		errs = append(errs, deadlines("redis.ClusterOptions", opt.ContextTimeoutEnabled, opt.ReadTimeout, opt.WriteTimeout))
		b.slotOf, b.guards.find = clusterSlot, masterOf(c)
		b.reload.client = c
	case *redis.Ring:
		if c == nil {
			return nil, errNoClient
		}
		opt := c.Options()
		errs = append(errs, deadlines("redis.RingOptions", opt.ContextTimeoutEnabled, opt.ReadTimeout, opt.WriteTimeout))
		b.slotOf, b.guards.find = ringSlot, shardOf(c)
	case nil:
		return nil, errNoClient
	default:
		errs = append(errs, fmt.Errorf("redislimit: client %T: %w: use a *redis.Client, *redis.ClusterClient or *redis.Ring",
			client, core.ErrUnsupported))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return b, nil
}

// Fallback implements core.FallbackProvider: a memory.New() of this Backend's own,
// made when it is needed first.
func (b *Backend) Fallback() core.Backend { return b.fallback() }

var errNoClient = errors.New("redislimit: the client is nil")

// deadlines complains about client options under which a context's deadline does
// not end a call.
func deadlines(options string, enabled bool, read, write time.Duration) error {
	switch {
	case !enabled:
		return fmt.Errorf("redislimit: a server that hangs would hang every request: set ContextTimeoutEnabled in %s", options)
	case read < 0 || write < 0:
		return fmt.Errorf("redislimit: ReadTimeout or WriteTimeout -2 in %s lets no deadline end a call: use 0 for the default", options)
	}
	return nil
}

// A reloader asks a cluster client to look for its nodes anew, which it does not
// do by itself when a node no longer answers.
type reloader struct {
	client *redis.ClusterClient
	next   atomic.Int64 // not before this instant, in ns
}
