package redislimit

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/internal/servers"
)

// shared are servers that many tests use at once, started when first asked for.
var shared struct {
	process  *servers.Process
	single   func() *servers.Server
	cluster  func() *servers.Cluster
	sentinel func() *servers.Sentinels
	ring     func() []*servers.Server

	mu  sync.Mutex
	all []*servers.Server // to be looked through at the end
}

func TestMain(m *testing.M) {
	if os.Getenv("STINT_WORKER") != "" {
		map[string]func(){"": work, "wait": waitWork, "hold": holdWork}[os.Getenv("STINT_WORK")]()
		return
	}
	p, err := servers.Shared()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared.process = p
	shared.single = sync.OnceValue(func() *servers.Server { return watch(servers.Redis(p)) })
	shared.cluster = sync.OnceValue(func() *servers.Cluster {
		c := servers.RedisCluster(p)
		watch(c.Nodes...)
		return c
	})
	shared.sentinel = sync.OnceValue(func() *servers.Sentinels {
		s := servers.RedisSentinels(p)
		watch(s.Nodes...)
		return s
	})
	shared.ring = sync.OnceValue(func() []*servers.Server {
		s := []*servers.Server{servers.Redis(p), servers.Redis(p), servers.Redis(p)}
		watch(s...)
		return s
	})
	code := max(m.Run(), onValkey())
	for _, s := range shared.all {
		for _, key := range immortal(s) {
			fmt.Fprintf(os.Stderr, "key without a time to live on %s: %s\n", s.Addr(), key)
			code = 1
		}
	}
	if err := p.Close(code != 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// onValkey runs all tests again against Valkey's server, where it is installed.
func onValkey() (code int) {
	valkey, err := exec.LookPath("valkey-server")
	asked := func(name string) bool { return flag.Lookup("test."+name).Value.String() != "" }
	if err != nil || os.Getenv("STINT_REDIS") != "" || asked("bench") || asked("fuzz") {
		return 0
	}
	fmt.Fprintln(os.Stderr, "again with", valkey)
	again := exec.Command(os.Args[0], os.Args[1:]...)
	again.Env = append(os.Environ(), "STINT_REDIS="+valkey)
	again.Stdout, again.Stderr = os.Stdout, os.Stderr
	if err := again.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "with", valkey+":", err)
		return 1
	}
	return 0
}

func watch(all ...*servers.Server) *servers.Server {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.all = append(shared.all, all...)
	return all[0]
}

// immortal are the keys of a server that will never expire.
func immortal(s *servers.Server) (keys []string) {
	if strings.Contains(s.Do("INFO", "replication"), "role:slave") {
		return nil // its master is looked through
	}
	return strings.Fields(s.Do("EVAL", "local r = {} for _, k in ipairs(redis.call('KEYS', '*')) do "+
		"if redis.call('PTTL', k) == -1 then r[#r + 1] = k end end return r", "0"))
}

// patient is a time-out for tests of anything but time-outs, on busy machines.
const patient = 20e9

// on is a backend on one server, with a client of its own.
func on(t testing.TB, s *servers.Server) *Backend {
	t.Helper()
	return over(t, &redis.Options{Addr: s.Addr(), PoolSize: 64})
}

func over(t testing.TB, o *redis.Options) *Backend {
	t.Helper()
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return must(t, c, Options{Timeout: patient})
}

func must(t testing.TB, c redis.UniversalClient, o Options) *Backend {
	t.Helper()
	b, err := New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	if one, ok := c.(*redis.Client); ok {
		t.Cleanup(func() {
			if n, most := one.PoolStats().TotalConns, one.Options().PoolSize; int(n) > most {
				t.Errorf("%d connections, the pool has room for %d", n, most)
			}
		})
	}
	return b
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
