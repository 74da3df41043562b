// Package bench puts this library and the limiters that it is compared with
// behind one tiny interface per layer, so that a new row costs one small file.
//
//	Layer A  Decider        in-process decision, memory store
//	Layer B  HTTPPeer       whole middleware inside its framework
//	Layer C  RemoteDecider  decision whose state is in Redis
//	Layer D  RemoteDecider  decision whose state is in memcached
package bench

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Quota is N events per Per, with a burst of N where the peer has bursts.
// Sweep, when set, is the sweep interval and idle time-to-live for the peers
// that can be told one; otherwise the peer keeps its own default.
type Quota struct {
	N     int
	Per   time.Duration
	Sweep time.Duration
}

// PerSecond is the quota as events per second.
func (q Quota) PerSecond() float64 { return float64(q.N) / q.Per.Seconds() }

var (
	// Open admits everything a benchmark can send; every decision still
	// writes its state.
	Open = Quota{N: 10_000_000_000, Per: time.Minute}
	// Shut denies everything after the first event.
	Shut = Quota{N: 1, Per: time.Hour}
)

// Decider is layer A: Allow counts one event for the key.
type Decider interface{ Allow(key string) bool }

// MemoryPeer is a row of layer A: its Name, and New, which makes its Decider.
type MemoryPeer struct {
	Name string
	New  func(Quota) Decider
}

// Client sends one request from client number ip (0 <= ip < IPs) through a
// middleware chain and returns the status code. It is not safe for concurrent
// use; make one per goroutine.
type Client func(ip int) int

// HTTPPeer is a row of layer B: its Framework and Name, and New, which builds a
// server and returns a maker of clients.
type HTTPPeer struct {
	Framework, Name string
	New             func(Quota) func() Client
}

// RemoteDecider is layers C and D: it counts one event for the key.
type RemoteDecider func(ctx context.Context, key string) (bool, error)

// RemotePeer is a row of layer C: its Name, the row that it is Compared with in
// each round, if any, and New, which makes its RemoteDecider on a client.
type RemotePeer struct {
	Name, Compared string
	New            func(*redis.Client, Quota) (RemoteDecider, error)
}

// MemcachedPeer is a row of layer D: its Name, the row that it is Compared with,
// and New, which makes its RemoteDecider on the server at addr.
type MemcachedPeer struct {
	Name, Compared string
	New            func(addr string, q Quota) (RemoteDecider, error)
}

// The registries. Each peer file appends to them in init.
var (
	MemoryPeers    []MemoryPeer
	HTTPPeers      []HTTPPeer
	RedisPeers     []RemotePeer
	MemcachedPeers []MemcachedPeer
)

// DeciderFunc adapts a function to Decider.
type DeciderFunc func(key string) bool

// Allow calls f.
func (f DeciderFunc) Allow(key string) bool { return f(key) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
