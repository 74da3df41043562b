package redislimit

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// A decision is one command, however many asks it has.
func TestOneCommandPerDecision(t *testing.T) {
	s := servers.Redis(t)
	b := on(t, s)
	var asks []core.Ask
	for _, strategy := range five {
		asks = append(asks, asking(t, strategy, 100, time.Minute))
	}
	for _, n := range []int{1, 2, 5} {
		for i := 0; i+n <= len(asks); i += n {
			if _, err := b.Take(background(), 0, asks[i:i+n], make([]core.Verdict, n)); err != nil { // the server learns the script
				t.Fatal(err)
			}
			const times = 20
			s.Do("CONFIG", "RESETSTAT")
			for range times {
				if _, err := b.Take(background(), 0, asks[i:i+n], make([]core.Verdict, n)); err != nil {
					t.Fatal(err)
				}
			}
			if got := commands(t, s, "evalsha"); got != times {
				t.Errorf("%d decisions of %d asks were %d EVALSHA", times, n, got)
			}
			for line := range strings.Lines(s.Do("INFO", "commandstats")) {
				name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "cmdstat_"), ":")
				switch name {
				case "evalsha", "# Commandstats", "", "config|resetstat", "info":
				case "time", "get", "set", "lrange", "rpush", "ltrim", "lset", "pexpire", "rpushx": // the script's own
				default:
					t.Errorf("another command was sent: %s", name)
				}
			}
		}
	}
}

// Who hangs up after the call has begun pays: the charge is made and reported,
// even where the call still waits for a connection.
func TestHangingUpDoesNotCancelTheCharge(t *testing.T) {
	s := servers.Redis(t)
	b := over(t, &redis.Options{Addr: s.Addr(), PoolSize: 1})
	a := asking(t, core.GCRA{}, 10, 24*time.Hour)
	if _, err := take(b, 0, a); err != nil {
		t.Fatal(err)
	}
	cancellable, cancel := context.WithCancel(context.Background())
	ctx := looked{cancellable, new(atomic.Int64)}
	s.Freeze()
	type answer struct {
		v   core.Verdict
		err error
	}
	done := make(chan answer)
	for range 2 { // one has the connection, one waits for it
		go func() {
			out := make([]core.Verdict, 1)
			_, err := b.Take(ctx, 0, []core.Ask{a}, out)
			done <- answer{out[0], err}
		}()
	}
	eventually(t, func() bool { return ctx.n.Load() >= 2 })
	cancel()
	s.Thaw()
	for range 2 {
		if got := <-done; got.err != nil || !got.v.Charged {
			t.Errorf("%+v, %v", got.v, got.err)
		}
	}
	if n := units(t, b, a); n != 3 {
		t.Errorf("%d units", n)
	}
}

// looked is a context that counts how often it was asked whether it is done: once
// by each call that begins.
type looked struct {
	context.Context
	n *atomic.Int64
}

func (c looked) Err() error {
	err := c.Context.Err()
	c.n.Add(1)
	return err
}

// The caller's own deadline counts where it is earlier.
func TestTheCallersDeadlineCounts(t *testing.T) {
	s := servers.Redis(t)
	b := on(t, s)
	a := asking(t, core.GCRA{}, 10, time.Minute)
	if _, err := take(b, 0, a); err != nil {
		t.Fatal(err)
	}
	s.Freeze()
	defer s.Thaw()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := b.Take(ctx, 0, []core.Ask{a}, make([]core.Verdict, 1))
	if !errors.Is(err, core.ErrUnavailable) || time.Since(start) > within {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

func TestNewRefusesClientsWithoutDeadlines(t *testing.T) {
	addrs := []string{"127.0.0.1:1"}
	for name, c := range map[string]struct {
		client redis.UniversalClient
		o      Options
		want   string // in the error; "" means none
	}{
		"client":            {client: redis.NewClient(&redis.Options{Addr: addrs[0]})},
		"failover":          {client: redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: addrs})},
		"cluster":           {client: redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs}), want: "set ContextTimeoutEnabled in redis.ClusterOptions"},
		"cluster with":      {client: redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true})},
		"cluster no limit":  {client: redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true, ReadTimeout: -2}), want: "ReadTimeout"},
		"ring":              {client: redis.NewRing(&redis.RingOptions{}), want: "set ContextTimeoutEnabled in redis.RingOptions"},
		"ring with":         {client: redis.NewRing(&redis.RingOptions{ContextTimeoutEnabled: true})},
		"nil":               {want: "nil"},
		"nil client":        {client: (*redis.Client)(nil), want: "nil"},
		"something else":    {client: struct{ redis.UniversalClient }{}, want: "*redis.ClusterClient"},
		"a negative time":   {client: redis.NewClient(&redis.Options{Addr: addrs[0]}), o: Options{Timeout: -1}, want: "negative"},
		"one without a net": {client: redis.NewClient(&redis.Options{Addr: "192.0.2.1:1"})}, // New does no I/O
	} {
		_, err := New(c.client, c.o)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if c.client != nil && name != "nil client" && name != "something else" {
			c.client.Close()
		}
	}
}

// The client that was given keeps its own options.
func TestNewLeavesTheClientAsItIs(t *testing.T) {
	c := plainClient(t, shared.single().Addr())
	before := *c.Options()
	must(t, c, Options{})
	after := *c.Options()
	if before.ContextTimeoutEnabled != after.ContextTimeoutEnabled || before.ReadTimeout != after.ReadTimeout {
		t.Errorf("ContextTimeoutEnabled %v, ReadTimeout %v", after.ContextTimeoutEnabled, after.ReadTimeout)
	}
}
