package redislimit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Memory is what one server says of its memory. A server that is short of it may
// drop keys before their time, and with them what was counted.
type Memory struct {
	Addr    string // of the server, host:port
	Max     int64  // maxmemory in bytes; 0 is no limit
	Policy  string // maxmemory-policy
	Evicted int64  // keys dropped for want of memory since the server's start: a metric to watch
}

// Warning says why counts may get lost, "" where they do not. All keys of this
// package expire, so the policies that evict only such keys are no better than the
// others.
func (m *Memory) Warning() string {
	if m.Max == 0 || m.Policy == "noeviction" {
		return ""
	}
	return fmt.Sprintf("redislimit: server %s evicts keys when it has used %d bytes (maxmemory-policy %s, %d evicted so far), "+
		"and each key of a limit admits up to one limit more: use noeviction, or enough memory", m.Addr, m.Max, m.Policy, m.Evicted)
}

// Memory asks every server that takes writes. It is for diagnosis and metrics,
// not for the way of a request, and needs the right to INFO. The time-out is that
// of any operation.
func (b *Backend) Memory(ctx context.Context) ([]Memory, error) {
	var mu sync.Mutex
	var all []Memory
	err := b.eachServer(ctx, "memory", func(addr, info string) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, memoryOf(addr, info))
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func memoryOf(addr, info string) Memory {
	m := Memory{Addr: addr, Policy: infoField(info, "maxmemory_policy")}
	m.Max, _ = strconv.ParseInt(infoField(info, "maxmemory"), 10, 64)
	m.Evicted, _ = strconv.ParseInt(infoField(info, "evicted_keys"), 10, 64)
	return m
}

// eachServer hands f what INFO says of every server that takes writes; several at
// once where there are several.
func (b *Backend) eachServer(ctx context.Context, what string, f func(addr, info string)) error {
	ctx, cancel := b.deadline(ctx)
	defer cancel()
	askBy := func(ctx context.Context, via commander, server *redis.Client) error {
		info := redis.NewStringCmd(ctx, "info")
		err := via.Process(ctx, info)
		if err == nil {
			f(server.Options().Addr, info.Val())
		}
		return err
	}
	ask := func(ctx context.Context, server *redis.Client) error { return askBy(ctx, server, server) }
	var err error
	switch c := b.client.(type) {
	case *redis.Client:
		err = askBy(ctx, b.via, c)
	case *redis.ClusterClient:
		err = c.ForEachMaster(ctx, ask)
	case *redis.Ring:
		err = c.ForEachShard(ctx, ask)
	}
	if err != nil {
		return b.fail(what, err)
	}
	return nil
}

// infoField is the value of a field in what INFO says, "" where it says nothing.
func infoField(text, name string) string {
	_, rest, _ := strings.Cut(text, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}
