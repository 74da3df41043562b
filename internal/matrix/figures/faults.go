package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	redislimit "github.com/stint-go/stint/backends/redis"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/faultproxy"
	"github.com/stint-go/stint/internal/servers"
)

// deadBackend: 500 decisions a second while the backend is dead in four ways; the
// first second, in which that is found out, counts for the maximum only.
func deadBackend(tb servers.TB) {
	s := servers.Redis(tb)
	for _, mode := range []struct {
		name       string
		begin, end func(p *faultproxy.Proxy)
	}{
		{"refused", func(p *faultproxy.Proxy) { p.Set(faultproxy.Mode{Refuse: true}); p.Cut() }, func(p *faultproxy.Proxy) { p.Set(faultproxy.Mode{}) }},
		{"frozen", func(*faultproxy.Proxy) { s.Freeze() }, func(*faultproxy.Proxy) { s.Thaw() }},
		{"blackhole", func(p *faultproxy.Proxy) { p.Set(faultproxy.Mode{Blackhole: true}) }, func(p *faultproxy.Proxy) { p.Set(faultproxy.Mode{}); p.Cut() }},
		{"drip", func(p *faultproxy.Proxy) { p.Set(faultproxy.Mode{Drip: 10 * time.Millisecond}) }, func(p *faultproxy.Proxy) { p.Set(faultproxy.Mode{}); p.Cut() }},
	} {
		p := faultproxy.New(tb, s.Addr())
		l := limiter(tb, redis.NewClient(&redis.Options{Addr: p.Addr()}), redislimit.Options{})
		exactAfter(tb, l)
		mode.begin(p)
		first := openLoop(tb, l, 500, time.Second)
		then := openLoop(tb, l, 500, 4*time.Second)
		mode.end(p)
		print("dead-backend-max/"+mode.name, milliseconds(max(share(first, 1), share(then, 1))), "ms")
		print("dead-backend-p99/"+mode.name, milliseconds(share(then, 0.99)), "ms")
		print("recovery-time/"+mode.name, milliseconds(exactAfter(tb, l)), "ms")
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatFloat(float64(d)/ms, 'f', 2, 64) }

func recoveryRestart(tb servers.TB) {
	s := servers.Redis(tb)
	l := limiter(tb, redis.NewClient(&redis.Options{Addr: s.Addr()}), redislimit.Options{})
	exactAfter(tb, l)
	s.Kill()
	openLoop(tb, l, 100, time.Second)
	s.Start()
	s.WaitReady()
	print("recovery-time/restart", milliseconds(exactAfter(tb, l)), "ms")
}

// recoverySentinel and recoveryCluster count from the promotion of the replica.
func recoverySentinel(tb servers.TB) {
	s := servers.RedisSentinels(tb)
	l := limiter(tb, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Name, SentinelAddrs: s.Addrs()}), redislimit.Options{})
	exactAfter(tb, l)
	old := s.Master()
	s.Nodes[0].Kill()
	until(tb, func() bool { decide(tb, l, "a"); return s.Master() != old })
	print("recovery-time/sentinel", milliseconds(exactAfter(tb, l)), "ms")
}

func recoveryCluster(tb servers.TB) {
	cl := servers.RedisCluster(tb)
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cl.Addrs(), ContextTimeoutEnabled: true})
	l := limiter(tb, c, redislimit.Options{})
	exactAfter(tb, l)
	dead := cl.Nodes[0]
	cl.Nodes[0].Kill()
	until(tb, func() bool {
		decide(tb, l, "a")
		for line := range strings.Lines(cl.Nodes[1].Do("CLUSTER", "NODES")) {
			if strings.Contains(line, dead.Addr()) {
				return !strings.Contains(line, "-") || len(strings.Fields(line)) < 9 // it has no slots any more
			}
		}
		return false
	})
	start := time.Now()
	for i := range 300 { // every slot's master answers
		for {
			if _, exact := decide(tb, l, fmt.Sprint(i)); exact {
				break
			}
			if time.Since(start) > time.Minute {
				tb.Fatalf("a slot is still not served after a minute")
			}
		}
	}
	print("recovery-time/cluster", milliseconds(time.Since(start)), "ms")
}

func until(tb servers.TB, so func() bool) {
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("waited in vain")
		}
	}
}

// failoverLost: acknowledged charges that the new master does not know of, after a
// failover by hand, over five runs each.
func failoverLost(tb servers.TB) {
	for name, config := range map[string][]string{"default": nil, "min-replicas": {"min-replicas-to-write", "1", "min-replicas-max-lag", "1"}} {
		var lost []int64
		for range 5 {
			p, err := servers.Shared()
			if err != nil {
				tb.Fatalf("%v", err)
			}
			lost = append(lost, oneFailover(p, config))
			_ = p.Close(false)
		}
		slices.Sort(lost)
		print("lost-in-failover-median/"+name, lost[len(lost)/2], "charges")
		print("lost-in-failover-max/"+name, lost[len(lost)-1], "charges")
	}
}

func oneFailover(tb servers.TB, config []string) (lost int64) {
	s := servers.RedisSentinels(tb)
	for _, n := range s.Nodes {
		for i := 0; i < len(config); i += 2 {
			n.Do("CONFIG", "SET", config[i], config[i+1])
		}
	}
	l := limiter(tb, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Name, SentinelAddrs: s.Addrs()}), redislimit.Options{})
	exactAfter(tb, l)
	var acknowledged atomic.Int64
	old := s.Master()
	hit := func() {
		if _, exact := decide(tb, l, "victim"); exact {
			acknowledged.Add(1)
		}
		time.Sleep(10 * time.Millisecond) // about a hundred a second
	}
	for range 50 {
		hit()
	}
	s.Sentinels[0].Do("SENTINEL", "FAILOVER", s.Name)
	until(tb, func() bool { hit(); return s.Master() != old })
	for range 200 {
		hit()
	}
	exactAfter(tb, l)
	return acknowledged.Load() - used(tb, l, "victim")
}

// used are the units that the backend has counted for a key.
func used(tb servers.TB, l *core.Limiter, key string) int64 {
	d, err := l.Peek(context.Background(), "api", core.NewKey("k", key), 0)
	if err != nil || d.Degraded {
		tb.Fatalf("peek: degraded %v, %v", d.Degraded, err)
	}
	return d.Limit - d.Remaining
}

// doubleCounts: a thousand charges whose replies are lost.
func doubleCounts(tb servers.TB) {
	s := servers.Redis(tb)
	p := faultproxy.New(tb, s.Addr())
	direct := limiter(tb, redis.NewClient(&redis.Options{Addr: s.Addr()}), redislimit.Options{})
	b, err := redislimit.New(redis.NewClient(&redis.Options{Addr: p.Addr()}), redislimit.Options{Timeout: time.Second})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	exactAfter(tb, direct) // the script is known from here on
	rule, err := core.FixedWindow{}.Bind(core.Rate{Limit: 1_000_000_000, Window: 24 * time.Hour})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	space := core.NewSpace("api", (24 * time.Hour).Microseconds(), rule.Shape(), nil, nil)
	ask := core.Ask{Cell: core.Cell{Space: space, Key: core.NewKey("k", "lost")}, Rule: rule, Cost: 1}
	p.Set(faultproxy.Mode{DropReply: []byte("evalsha")})
	const calls = 1000
	for range calls {
		_, _ = b.Take(context.Background(), 0, []core.Ask{ask}, make([]core.Verdict, 1))
	}
	print("double-counts", max(0, used(tb, direct, "lost")-calls), "charges")
}

// goroutines: what ten thousand backends and ten thousand calls into a black hole
// leave behind.
func goroutines(tb servers.TB) {
	s := servers.Redis(tb)
	p := faultproxy.New(tb, s.Addr())
	before := runtime.NumGoroutine()
	c := redis.NewClient(&redis.Options{Addr: p.Addr()})
	for range 10_000 {
		if _, err := redislimit.New(c, redislimit.Options{}); err != nil {
			tb.Fatalf("%v", err)
		}
	}
	l := limiter(tb, c, redislimit.Options{Timeout: 5 * time.Millisecond})
	p.Set(faultproxy.Mode{Blackhole: true})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 200 {
				decide(tb, l, "a")
			}
		})
	}
	wg.Wait()
	_ = c.Close()
	p.Cut()
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	print("goroutines-leaked", max(0, runtime.NumGoroutine()-before), "goroutines")
}
