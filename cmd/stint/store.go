package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	memcachedlimit "github.com/stint-go/stint/backends/memcached"
	"github.com/stint-go/stint/backends/memory"
	redislimit "github.com/stint-go/stint/backends/redis"
	"github.com/stint-go/stint/core"
)

// A store is where lanes count: in memory, or on a server under names of their
// own, which nobody else has.
type store struct {
	client    *redis.Client
	memcached *memcachedlimit.Backend
	lanes     int
	private   string
	memory    []*memory.Backend
}

// patience bounds one call to a server. Nobody waits for an answer of a replay,
// so it is longer than an application's.
const patience = 5 * time.Second

// liveKeys is how many counters a lane keeps in memory at most.
const liveKeys = 1 << 24

// openStore reads --backend.
func openStore(ctx context.Context, url string) (*store, error) {
	logging.Disable() // errors are answered, not logged by the driver
	s := &store{private: "replay:" + rand.Text()[:10] + ":"}
	switch scheme, _, _ := strings.Cut(url, ":"); scheme {
	case "memory":
		if url == "memory" {
			return s, nil
		}
	case "redis", "rediss", "unix":
		options, err := redis.ParseURL(url)
		if err != nil {
			return nil, fmt.Errorf("--backend: %w", err)
		}
		options.DialerRetries = 1 // it is there or it is not
		s.client = redis.NewClient(options)
		if err := s.client.Ping(ctx).Err(); err != nil {
			return nil, fmt.Errorf("--backend: %s does not answer: %w", options.Addr, err)
		}
		return s, nil
	case "memcached":
		return s, s.openMemcached(url)
	}
	return nil, fmt.Errorf("--backend %q: use memory, redis://host:6379 or memcached://host:11211", url)
}

// openMemcached reads memcached://host:port, of several servers with commas.
func (s *store) openMemcached(url string) error {
	rest, ok := strings.CutPrefix(url, "memcached://")
	servers := strings.Split(strings.TrimSuffix(rest, "/"), ",")
	for i, server := range servers {
		if !strings.Contains(server, ":") {
			servers[i] = server + ":11211"
		}
		ok = ok && server != ""
	}
	if !ok {
		return fmt.Errorf("--backend %q: write memcached://host:11211", url)
	}
	var err error
	if s.memcached, err = memcachedlimit.New(servers, memcachedlimit.Options{Timeout: patience}); err != nil {
		return fmt.Errorf("--backend: %w", err)
	}
	client := memcache.New(servers...)
	defer client.Close()
	if err := client.Ping(); err != nil {
		return fmt.Errorf("--backend: memcached does not answer: %w", err)
	}
	return nil
}

// backend is one for a lane, and the prefix of its names.
func (s *store) backend() (core.Backend, string, error) {
	s.lanes++
	if s.memcached != nil {
		return s.memcached, fmt.Sprintf("%s%d:", s.private, s.lanes), nil
	}
	if s.client != nil {
		b, err := redislimit.New(s.client, redislimit.Options{Timeout: patience})
		return b, fmt.Sprintf("%s%d:", s.private, s.lanes), err
	}
	b, err := memory.NewWith(memory.Options{MaxCells: liveKeys, MaxBytes: 1 << 40})
	s.memory = append(s.memory, b)
	return b, "", err
}

// forgot is how many counters memory had no room for.
func (s *store) forgot() (n int64) {
	for _, b := range s.memory {
		n += b.Stats().Evicted + b.Stats().Overflowed
	}
	return n
}

func (s *store) close() {
	if s.client != nil {
		s.client.Close()
	}
	if s.memcached != nil {
		s.memcached.Close()
	}
}
