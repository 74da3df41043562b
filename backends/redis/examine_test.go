package redislimit

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// examine is what the Doctor finds in a healthy Limiter over the backend.
func examine(t *testing.T, b *Backend) ([]string, error) {
	t.Helper()
	l, err := core.New(core.Config{Backend: b, Secret: []byte("sixteen bytes...and some"),
		Policies: []core.Policy{{Name: "api", Rate: "100/m"}}})
	if err != nil {
		t.Fatal(err)
	}
	found, err := l.Doctor(t.Context())
	var codes []string
	for _, f := range found {
		codes = append(codes, f.Code)
	}
	return codes, err
}

func examined(t *testing.T, b *Backend, want ...string) {
	t.Helper()
	if got, err := examine(t, b); err != nil || !slices.Equal(got, want) {
		t.Errorf("found %q, want %q; error %v", got, want, err)
	}
}

func TestDoctorFindsNothingInHealthySetUps(t *testing.T) {
	if p := shared.single(); p != nil {
		examined(t, must(t, plainClient(t, p.Addr()), Options{Timeout: patience}))
	}
	var addrs []string
	for _, s := range shared.cluster().Nodes {
		addrs = append(addrs, s.Addr())
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { c.Close() })
	examined(t, must(t, c, Options{Timeout: patience}))
	shards := map[string]string{}
	for _, s := range shared.ring() {
		shards[s.Addr()] = s.Addr()
	}
	r := redis.NewRing(&redis.RingOptions{Addrs: shards, ContextTimeoutEnabled: true})
	t.Cleanup(func() { r.Close() })
	examined(t, must(t, r, Options{Timeout: patience}))
}

// patience is as long as a time-out may be before the Doctor has something to say.
const patience = time.Second

func TestDoctorNamesClientOptions(t *testing.T) {
	addr := shared.single().Addr()
	procs := runtime.GOMAXPROCS(0)
	for name, c := range map[string]struct {
		options redis.Options
		timeout time.Duration
		want    []string
	}{
		"a small pool":      {redis.Options{PoolSize: 2*procs - 1}, patience, []string{"redis-pool-small"}},
		"a pool":            {redis.Options{PoolSize: 2 * procs}, patience, nil},
		"a short wait":      {redis.Options{PoolTimeout: patience / 2}, patience, []string{"redis-client-impatient"}},
		"a short dial":      {redis.Options{DialTimeout: patience / 2}, patience, []string{"redis-client-impatient"}},
		"a read of our own": {redis.Options{ReadTimeout: patience / 2, PoolTimeout: patience}, patience, nil},
		"no retries":        {redis.Options{MaxRetries: -1}, patience, nil},
		"a long time-out":   {redis.Options{DialTimeout: time.Minute, PoolTimeout: time.Minute}, patience + 1, []string{"redis-timeout-long"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Addr = addr
			client := redis.NewClient(&c.options)
			t.Cleanup(func() { client.Close() })
			examined(t, must(t, client, Options{Timeout: c.timeout}), c.want...)
		})
	}
}

func TestDoctorNamesOptionsOfAClusterClient(t *testing.T) {
	var addrs []string
	for _, s := range shared.cluster().Nodes {
		addrs = append(addrs, s.Addr())
	}
	for code, o := range map[string]redis.ClusterOptions{
		"redis-reads-replicas":   {RouteRandomly: true},
		"redis-client-impatient": {ReadTimeout: patience / 2, PoolTimeout: patience},
		"redis-pool-small":       {PoolSize: 1},
	} {
		t.Run(code, func(t *testing.T) {
			o.Addrs, o.ContextTimeoutEnabled = addrs, true
			c := redis.NewClusterClient(&o)
			t.Cleanup(func() { c.Close() })
			examined(t, must(t, c, Options{Timeout: patience}), code)
		})
	}
}

func TestDoctorNamesServersThatForget(t *testing.T) {
	s := single(t, "--maxmemory", "3mb", "--maxmemory-policy", "allkeys-lru")
	b := on(t, s)
	b.timeout = patience
	examined(t, b, "redis-may-evict")
	for i := 0; infoField(s.Do("INFO", "stats"), "evicted_keys") == "0"; i++ {
		if i > 100_000 {
			t.Fatal("nothing is evicted")
		}
		s.Do("SET", fmt.Sprint("other:", i), strings.Repeat("x", 10_000), "EX", "60")
	}
	examined(t, b, "redis-evicts")
	s.Do("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "0")
	examined(t, b) // what was, is no longer so
}

func TestDoctorNamesAServerThatCanNotSave(t *testing.T) {
	s := single(t, "--enable-protected-configs", "local")
	b := on(t, s)
	b.timeout = patience
	dir := t.TempDir() + "/gone"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.Do("CONFIG", "SET", "dir", dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	s.Do("CONFIG", "SET", "stop-writes-on-bgsave-error", "no") // or the look at the rest would fail
	s.Do("BGSAVE")
	eventually(t, func() bool { return infoField(s.Do("INFO", "persistence"), "rdb_last_bgsave_status") == "err" })
	examined(t, b, "redis-save-fails")
}

// A decision of a replica fails, so that there is an error beside the finding.
func TestDoctorNamesAReplica(t *testing.T) {
	s := single(t)
	b := on(t, s)
	b.timeout = patience
	s.Do("REPLICAOF", "127.0.0.1", "1")
	got, _ := examine(t, b)
	if !slices.Equal(got, []string{"redis-replica"}) {
		t.Errorf("found %q", got)
	}
	s.Do("REPLICAOF", "NO", "ONE")
	examined(t, b)
}

// Who may not decide is told so; who may only not ask the server about itself gets
// an error, and everything else.
func TestDoctorNamesMissingRights(t *testing.T) {
	s := servers.Redis(t)
	s.Do("ACL", "SETUSER", "nothing", "on", ">secret", "~rl:*", "+hello", "+client", "+info")
	s.Do("ACL", "SETUSER", "decide", "on", ">secret", "~rl:*", "+@all", "-info")
	for user, want := range map[string][]string{"nothing": {"backend-refuses"}, "decide": {"redis-pool-small"}, "wrong": {"backend-refuses"}} {
		o := &redis.Options{Addr: s.Addr(), Username: user, Password: "secret"}
		if user == "decide" {
			o.PoolSize = 1
		}
		b := over(t, o)
		b.timeout = patience
		got, err := examine(t, b)
		if !slices.Equal(got, want) || (err == nil) != (user == "nothing") {
			t.Errorf("%s: found %q, error %v", user, got, err)
		}
	}
}
