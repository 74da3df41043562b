package redislimit

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
)

// The codes of findings: see core.Finding.
const (
	codeMayEvict      = "redis-may-evict"
	codeEvicts        = "redis-evicts"
	codeReplica       = "redis-replica"
	codeSaveFails     = "redis-save-fails"
	codeReadsReplicas = "redis-reads-replicas"
	codeImpatient     = "redis-client-impatient"
	codeTimeoutLong   = "redis-timeout-long"
	codePoolSmall     = "redis-pool-small"
)

// longTimeout is a time-out that is felt as an outage.
const longTimeout = time.Second

var _ core.Examiner = (*Backend)(nil)

// Examine implements core.Examiner: it looks at the options of the client, and asks
// every server what it says of itself, for which it needs the right to INFO.
func (b *Backend) Examine(ctx context.Context, _ []core.Use) ([]core.Finding, error) {
	found := b.examineClient()
	var mu sync.Mutex
	err := b.eachServer(ctx, "examine", func(addr, info string) {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, examineServer(addr, info)...)
	})
	return found, err
}

func examineServer(addr, info string) (found []core.Finding) {
	add := func(code, reason, remedy string) {
		found = append(found, core.Finding{Code: code, Reason: "server " + addr + " " + reason, Remedy: remedy})
	}
	switch m := memoryOf(addr, info); {
	case m.Warning() == "":
	case m.Evicted == 0:
		add(codeMayEvict, fmt.Sprintf("evicts keys when it has used %d bytes (maxmemory-policy %s): each key of a limit that it drops admits up to one limit more", m.Max, m.Policy),
			"Set maxmemory-policy to noeviction, best on a server for limits alone")
	default:
		add(codeEvicts, fmt.Sprintf("has evicted %d keys for want of memory (maxmemory-policy %s): each key of a limit among them admitted up to one limit more", m.Evicted, m.Policy),
			"Give it more memory, and set maxmemory-policy to noeviction, best on a server for limits alone")
	}
	if infoField(info, "role") == "slave" {
		add(codeReplica, "is a replica and takes no writes: every decision fails, and policies do as OnFailure says",
			"Connect to its master, or to all by redis.NewFailoverClient")
	}
	if infoField(info, "rdb_last_bgsave_status") == "err" {
		add(codeSaveFails, "could not save its data, and by default takes no writes until it can: decisions fail, and policies do as OnFailure says",
			"Make room on its disk, or switch saving off (save \"\"): counters need none")
	}
	return found
}

// examineClient looks at the options of the client. Retries are none of them:
// what counts is never sent twice, whatever MaxRetries says. Nor is
// ClusterStateReloadInterval: the backend looks for the nodes as soon as one fails.
func (b *Backend) examineClient() (found []core.Finding) {
	add := func(is bool, code, reason, remedy string) {
		if is {
			found = append(found, core.Finding{Code: code, Reason: reason, Remedy: remedy})
		}
	}
	o := b.clientOptions()
	add(b.timeout > longTimeout, codeTimeoutLong,
		fmt.Sprintf("Options.Timeout is %v: while Redis hangs, so does every request for as long", b.timeout),
		fmt.Sprintf("Leave it out, which is %v, or take several times the slowest round trip that is normal", DefaultTimeout))
	add(slices.ContainsFunc(o.patience, func(d time.Duration) bool { return d > 0 && d < b.timeout }), codeImpatient,
		fmt.Sprintf("the client gives up before Options.Timeout (%v): decisions fail that would have been made in time", b.timeout),
		"Leave DialTimeout, ReadTimeout, WriteTimeout and PoolTimeout of the client out, or make them longer than Options.Timeout")
	add(o.pool > 0 && o.pool < 2*runtime.GOMAXPROCS(0), codePoolSmall,
		fmt.Sprintf("PoolSize is %d for %d processors: decisions wait for a connection instead of being made", o.pool, runtime.GOMAXPROCS(0)),
		"Leave PoolSize out, which is 10 per processor")
	add(o.readsReplicas, codeReadsReplicas,
		"the client is to read from replicas (ReadOnly, RouteByLatency or RouteRandomly), which lag behind: a decision of a strategy without a script then rests on what was, and is made anew or fails",
		"Use a client of its own for limits, without these options")
	return found
}

// clientOptions are what Examine looks at, whatever the client.
type clientOptions struct {
	pool          int
	patience      []time.Duration
	readsReplicas bool
}

func (b *Backend) clientOptions() (o clientOptions) {
	switch c := b.client.(type) {
	case *redis.Client:
		opt := c.Options() // reads and writes end with Options.Timeout: see New
		o.pool, o.patience = opt.PoolSize, []time.Duration{opt.DialTimeout, opt.PoolTimeout}
	case *redis.ClusterClient:
		opt := c.Options()
		o.pool, o.patience = opt.PoolSize, []time.Duration{opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout, opt.PoolTimeout}
		o.readsReplicas = opt.ReadOnly
	case *redis.Ring:
		opt := c.Options()
		o.pool, o.patience = opt.PoolSize, []time.Duration{opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout, opt.PoolTimeout}
	}
	return o
}
