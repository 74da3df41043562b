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

// Settling is one command, however many charges it corrects.
func TestOneCommandPerSettle(t *testing.T) {
	s := servers.Redis(t)
	b := on(t, s)
	var asks []core.Ask
	for _, strategy := range five {
		asks = append(asks, asking(t, strategy, 1000, time.Hour))
	}
	const times = 20
	out, refunds, debts := make([]core.Verdict, len(asks)), make([]int64, len(asks)), make([]int64, len(asks))
	receipts := make([]core.Receipt, len(asks))
	for i := range asks {
		asks[i].Cost, refunds[i], debts[i] = 3, -1, 2
	}
	settle := func(delta []int64) {
		if err := b.Settle(background(), 0, asks, receipts, delta); err != nil {
			t.Fatal(err)
		}
	}
	settle(debts) // the server learns the script
	for range times {
		if _, err := b.Take(background(), 0, asks, out); err != nil {
			t.Fatal(err)
		}
		for i := range out {
			receipts[i] = out[i].Receipt
		}
		s.Do("CONFIG", "RESETSTAT")
		settle(refunds)
		settle(debts)
		if n, other := commands(t, s, "evalsha"), commands(t, s, "eval", "script"); n != 2 || other != 0 {
			t.Fatalf("a refund and a debt were %d EVALSHA and %d others", n, other)
		}
	}
	for i, a := range asks {
		if n := units(t, b, a); n != 2+times*(3-1+2) {
			t.Errorf("%s: %d units", five[i].Name(), n)
		}
	}
}

// trips counts what goes to each server of a cluster or ring.
type trips struct {
	single, pipelines atomic.Int64
}

func (c *trips) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.HasPrefix(cmd.Name(), "eval") {
			c.single.Add(1)
		}
		return next(ctx, cmd)
	}
}
func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) > 0 && strings.HasPrefix(cmds[0].Name(), "eval") {
			c.pipelines.Add(1)
		}
		return next(ctx, cmds)
	}
}

// A decision over several slots is one trip per phase to each server, however
// many of its slots are there.
func TestOneTripPerServerAndPhase(t *testing.T) {
	cl := shared.cluster()
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cl.Addrs(), ContextTimeoutEnabled: true, ReadTimeout: time.Minute})
	defer c.Close()
	count := new(trips)
	c.OnNewNode(func(node *redis.Client) { node.AddHook(count) })
	b := must(t, c, Options{Timeout: patient})
	hereOrThere := func(home string, here bool) core.Ask {
		for {
			a := asking(t, core.GCRA{}, 10, time.Hour)
			if home == "" || (serverOf(t, b, a).Options().Addr == home) == here {
				return a
			}
		}
	}
	first := hereOrThere("", true)
	home := serverOf(t, b, first).Options().Addr
	asks := []core.Ask{first, hereOrThere(home, true), hereOrThere(home, true), hereOrThere(home, false)}
	full := hereOrThere(home, true)
	full.Cost = 10
	for range 2 { // at first the servers learn the scripts
		count.single.Store(0)
		count.pipelines.Store(0)
		if _, err := b.Take(background(), 0, asks, make([]core.Verdict, len(asks))); err != nil {
			t.Fatal(err)
		}
	}
	if s, p := count.single.Load(), count.pipelines.Load(); s != 1 || p != 1 {
		t.Errorf("four slots on two servers took %d commands and %d pipelines", s, p)
	}
	if _, err := take(b, 0, full); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		count.single.Store(0)
		count.pipelines.Store(0)
		full.Cost = 1
		out := make([]core.Verdict, len(asks)+1)
		if _, err := b.Take(background(), 0, append(asks, full), out); err != nil || out[0].Charged || out[4].OK {
			t.Fatal(out, err)
		}
	}
	if s, p := count.single.Load(), count.pipelines.Load(); s != 2 || p != 2 {
		t.Errorf("its refusal took %d commands and %d pipelines", s, p)
	}
	for _, a := range asks {
		if n := units(t, b, a); n != 2 {
			t.Errorf("%d units", n)
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
