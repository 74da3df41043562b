package redislimit

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/backends/internal/breaker"
)

// errOpen is what calls get while a breaker is open.
var errOpen = fmt.Errorf("redislimit: %w", ErrOpen)

// guards has the breaker of every server that the client knows: one for a
// *redis.Client, one per master of a Cluster and per shard of a Ring.
type guards struct {
	settings breaker.Settings
	one      *guard
	find     func(name string) *redis.Client // the server of a cell, without I/O; nil if there is none
	mu       sync.Mutex
	known    atomic.Pointer[map[string]*guard] // by address
}

// A guard is the breaker of one server.
type guard struct {
	*breaker.Breaker
	server *redis.Client // nil: not known
	addr   string
	last   atomic.Pointer[net.OpError] // the last dial that failed
}

// maxGuards bounds the servers that are remembered, where their addresses change.
const maxGuards = 1024

func (g *guards) newGuard(server *redis.Client) *guard {
	return &guard{Breaker: breaker.New(g.settings), server: server, addr: addrOf(server)}
}

func addrOf(server *redis.Client) string {
	if server == nil {
		return ""
	}
	return server.Options().Addr
}

// shut reports that the one server there is would not be asked, before anything
// is done for the call.
func (g *guards) shut() bool { return g.one != nil && g.one.Open() }

// enter asks the guard of the server that the cell of that name is on.
func (g *guards) enter(name string) (passage, error) {
	if g.find == nil {
		return g.one.enter(name)
	}
	return g.of(g.find(name)).enter(name)
}

// of is the guard of a server. Where the client does not know which one a cell is
// on, as long as it has not reached its Cluster, it is one without an address.
func (g *guards) of(server *redis.Client) *guard {
	if known := g.known.Load(); known != nil {
		if own := (*known)[addrOf(server)]; own != nil {
			return own
		}
	}
	return g.add(server)
}

func (g *guards) add(server *redis.Client) *guard {
	addr := addrOf(server)
	g.mu.Lock()
	defer g.mu.Unlock()
	next := map[string]*guard{}
	if known := g.known.Load(); known != nil && len(*known) < maxGuards {
		for a, own := range *known {
			next[a] = own
		}
	}
	own := next[addr]
	if own == nil {
		own = g.newGuard(server)
		next[addr] = own
	}
	g.known.Store(&next)
	return own
}

// A passage is one call that a guard has let through.
type passage struct {
	guard *guard
	call  breaker.Call
	key   string
}

// enter asks for a call about the cell of that name.
func (g *guard) enter(name string) (p passage, err error) {
	p.guard, p.key = g, name
	var ok bool
	if p.call, ok = g.Begin(); !ok {
		return p, errOpen
	}
	return p, nil
}

var keySeed = maphash.MakeSeed()

// leave tells the guard what became of the call.
func (p *passage) leave(ctx context.Context, err error) {
	if _, replied := errors.AsType[redis.Error](err); err == nil || replied {
		p.guard.Answered(p.call)
		return
	}
	if !transport(err) || ctx.Value(hurried{}) != nil || p.guard.crowded(err) {
		return
	}
	// go-redis stops dialling after some failures, for up to a second, and
	// answers the very error of before.
	dial, _ := errors.AsType[*net.OpError](err)
	idle := dial != nil && dial.Op == "dial" && p.guard.last.Swap(dial) == dial
	identity, _, _ := strings.Cut(p.key, "}")
	p.guard.Failed(p.call, maphash.String(keySeed, identity), idle)
}

// crowded tells that a call got no connection because all that the pool may have
// are in use: by other calls, which will tell how the server is, or by whatever else
// the application does with its client.
func (g *guard) crowded(err error) bool {
	if g.server == nil {
		return false
	}
	if _, network := errors.AsType[*net.OpError](err); network {
		return false
	}
	waited := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
	return waited && int(g.server.PoolStats().TotalConns) >= g.server.Options().PoolSize
}

// transport tells that a call failed on the way to the server or back, or got no
// reply in time. What a client can provoke by what it sends is not among them.
func transport(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return !errors.Is(err, net.ErrClosed)
	}
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, context.DeadlineExceeded, redis.ErrPoolTimeout, redis.ErrPoolExhausted} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// hurried marks the context of a call whose caller gave it much less time than
// the time-out: that it got no reply says nothing about the server.
type hurried struct{}

// masterOf finds the master of a cell in a Cluster as the client knows it.
func masterOf(c *redis.ClusterClient) func(name string) *redis.Client {
	return func(name string) *redis.Client {
		master, err := c.MasterForKey(done, name)
		if err != nil {
			return nil
		}
		return master
	}
}

// shardOf finds the shard of a cell in a Ring.
func shardOf(c *redis.Ring) func(name string) *redis.Client {
	return func(name string) *redis.Client {
		shard, err := c.GetShardClientForKey(name)
		if err != nil {
			return nil
		}
		return shard
	}
}

// done is a context under which a client does no I/O.
var done = func() context.Context {
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(1, 0))
	cancel()
	return ctx
}()

// A Breaker is the state of the breaker of one server.
type Breaker struct {
	// Addr is the server's address as the client has it: "FailoverClient" under
	// Sentinel, "" for a Cluster that was not reached yet.
	Addr string
	// Open: calls fail at once with ErrOpen, all but one per Options.ProbeEvery.
	Open bool
	// Changes is how often it has opened and closed so far.
	Changes int64
}

// Breakers are the states of the breakers, one per server that was used, in no
// particular order.
func (b *Backend) Breakers() (states []Breaker) {
	add := func(g *guard) {
		open, changes := g.State()
		states = append(states, Breaker{g.addr, open, changes})
	}
	if b.guards.one != nil {
		add(b.guards.one)
	}
	if known := b.guards.known.Load(); known != nil {
		for _, g := range *known {
			add(g)
		}
	}
	return states
}
