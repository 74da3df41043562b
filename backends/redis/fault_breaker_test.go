package redislimit

import (
	"context"
	"errors"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/faultproxy"
	"github.com/stint-go/stint/internal/servers"
)

// identities are asks about that many keys under one wide limit, to be taken in
// turn from any goroutine.
func identities(t testing.TB, n int) (next func() core.Ask) {
	asks := make([]core.Ask, n)
	for i := range asks {
		asks[i] = asking(t, core.GCRA{}, 1_000_000, time.Hour)
	}
	var i atomic.Int64
	return func() core.Ask { return asks[int(i.Add(1))%n] }
}

// opens calls until a breaker has opened, and tells after how many calls.
func opens(t testing.TB, b *Backend, next func() core.Ask) (calls int) {
	t.Helper()
	for still := during(30 * time.Second); still(); calls++ {
		if _, err := take(b, 0, next()); errors.Is(err, ErrOpen) {
			return calls
		}
	}
	t.Fatalf("the breaker does not open: %+v", b.Breakers())
	return 0
}

// changes is how often the breakers have opened and closed.
func changes(b *Backend) (n int64) {
	for _, s := range b.Breakers() {
		n += s.Changes
	}
	return n
}

// All connections of the client are in use by the application: that is no fault
// of the server's, and no reason to leave it alone.
func TestCrowdedPoolDoesNotOpenTheBreaker(t *testing.T) {
	s := shared.single()
	c := redisClient(t, &redis.Options{Addr: s.Addr(), PoolSize: 2})
	b := must(t, c, Options{})
	next := identities(t, 10)
	busy, end := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { c.BLPop(busy, time.Minute, "nothing comes here") })
	}
	defer func() {
		end()
		c.Close()
		wg.Wait()
	}()
	eventually(t, func() bool { return strings.Count(s.Do("CLIENT", "LIST"), "cmd=blpop") >= 2 })
	for range 20 {
		if _, err := take(b, 0, next()); !errors.Is(err, ErrPool) {
			t.Fatalf("%v", err)
		}
	}
	if changes(b) != 0 {
		t.Errorf("%+v", b.Breakers())
	}
}

// dialling is a client that counts how often it dials, and dials once where
// go-redis would five times.
func dialling(t testing.TB, o redis.Options) (*redis.Client, *atomic.Int64) {
	n := new(atomic.Int64)
	o.DialerRetries = 1
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	c := redis.NewClient(&o)
	t.Cleanup(func() { c.Close() })
	return c, n
}

// A server that hangs or is away costs the first callers the time-out, and then
// one call per half a second; nobody else waits, dials or starts a goroutine.
func TestFault_A4WithTheBreakerOpen(t *testing.T) {
	for name, mode := range map[string]faultproxy.Mode{
		"refused": {Refuse: true}, "blackhole": {Blackhole: true}, "drip": {Drip: 20 * time.Millisecond}, "frozen": {},
	} {
		t.Run(name, func(t *testing.T) {
			s := servers.Redis(t)
			p := faultproxy.New(t, s.Addr())
			c, dials := dialling(t, redis.Options{Addr: p.Addr()})
			b := must(t, c, Options{})
			next := identities(t, 100)
			crowd(20, func() bool { _, _ = take(b, 0, next()); return false })
			p.Set(mode)
			if name == "frozen" {
				s.Freeze()
				defer s.Thaw()
			} else {
				p.Cut()
			}
			opens(t, b, next)

			base := runtime.NumGoroutine()
			begun, before := time.Now(), dials.Load()
			var waited, turned atomic.Int64
			most := 0
			const callers = 50
			left := during(1500 * time.Millisecond)
			crowd(callers, func() bool {
				switch _, err := take(b, 0, next()); {
				case errors.Is(err, ErrOpen):
					turned.Add(1)
				case err == nil:
					t.Error("decided by a server that does not answer")
				default:
					waited.Add(1)
				}
				if turned.Load()%512 == 0 {
					runtime.Gosched()
				}
				return left()
			})
			for range 20 { // a little more, and look around
				_, _ = take(b, 0, next())
				most = max(most, runtime.NumGoroutine())
			}
			probes := 1 + int64(time.Since(begun)/(500*time.Millisecond))
			// A refused client that has stopped dialling is probed ten times as often.
			if most := probes * 11; waited.Load() > most || name != "refused" && waited.Load() > probes {
				t.Errorf("%d calls went to the server, %d probes were due", waited.Load(), probes)
			}
			if turned.Load() < 1000 {
				t.Errorf("only %d calls were turned away", turned.Load())
			}
			if n := dials.Load() - before; n > 2*probes {
				t.Errorf("%d dials in %v", n, time.Since(begun))
			}
			if most > base+4 {
				t.Errorf("%d goroutines, %d before", most, base)
			}
			t.Logf("opened; then %d turned away, %d probes, %d dials in %v", turned.Load(), waited.Load(), dials.Load()-before, time.Since(begun))
			p.Set(faultproxy.Mode{})
			s.Thaw()
			recovers(t, b, 2*time.Second, next())
			if s := b.Breakers(); len(s) != 1 || s[0].Open || s[0].Changes < 2 {
				t.Errorf("afterwards: %+v", s)
			}
			clean(t, s)
		})
	}
}

// It can be switched off, and its settings are looked at.
func TestBreakerSettings(t *testing.T) {
	c := plainClient(t, "127.0.0.1:1")
	b := must(t, c, Options{BreakAfter: -1, Timeout: 5 * time.Millisecond})
	next := identities(t, 10)
	for range 40 {
		if _, err := take(b, 0, next()); err == nil || errors.Is(err, ErrOpen) {
			t.Fatalf("switched off, it answers %v", err)
		}
	}
	b = must(t, c, Options{BreakAfter: 2, Timeout: 5 * time.Millisecond})
	if n := opens(t, b, next); n != 2 {
		t.Errorf("it opened after %d calls", n)
	}
	if err := b.Reset(background(), next().Cell); !errors.Is(err, ErrOpen) || !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("reset: %v", err)
	}
	a := next()
	if err := b.Settle(background(), 0, []core.Ask{a}, make([]core.Receipt, 1), []int64{1}); !errors.Is(err, ErrOpen) {
		t.Errorf("settle: %v", err)
	}
	for _, o := range []Options{{ProbeEvery: -1}, {DenyFor: -1}} {
		if _, err := New(c, o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

// While the breaker is open a call costs next to nothing.
func TestOpenCostsNoAllocation(t *testing.T) {
	b := must(t, plainClient(t, "127.0.0.1:1"), Options{BreakAfter: 2, Timeout: 5 * time.Millisecond, ProbeEvery: time.Hour})
	next := identities(t, 10)
	opens(t, b, next)
	asks, out := []core.Ask{next()}, make([]core.Verdict, 1)
	if n := testing.AllocsPerRun(100, func() { _, _ = b.Take(background(), 0, asks, out) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Clients that hang up, and those that give it no time, do not open it; what was
// sent is charged.
func TestFault_F8(t *testing.T) {
	s := servers.Redis(t)
	b := on(t, s)
	a := asking(t, core.FixedWindow{}, 1_000_000, 24*time.Hour)
	const calls = 4000
	var took atomic.Int64
	var left atomic.Int64
	left.Store(calls)
	crowd(8, func() bool {
		ctx, cancel := context.WithCancel(background())
		out := make([]core.Verdict, 1)
		hungUp := make(chan struct{})
		go func() { cancel(); close(hungUp) }()
		if _, err := b.Take(ctx, 0, []core.Ask{a}, out); err == nil {
			took.Add(1)
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		<-hungUp
		return left.Add(-1) > 0
	})
	if n := units(t, b, a); n != took.Load() || n == 0 {
		t.Errorf("%d calls were made, %d are counted", took.Load(), n)
	}
	next := identities(t, 100)
	for i := range 1000 {
		ctx, cancel := context.WithTimeout(background(), time.Duration(i%50)*time.Microsecond)
		_, _ = b.Take(ctx, 0, []core.Ask{next()}, make([]core.Verdict, 1))
		cancel()
	}
	if n := changes(b); n != 0 {
		t.Errorf("hanging up changed the breaker %d times", n)
	}
}

// What is wrong with single keys does not open it, however often it is asked for.
func TestFault_G9(t *testing.T) {
	s := servers.Redis(t)
	b := must(t, plainClient(t, s.Addr()), Options{Timeout: patient})
	var bad []core.Ask
	for range 100 {
		a := asking(t, core.SlidingWindow{}, 10, time.Hour)
		s.Do("LPUSH", nameOf(a), "foreign")
		bad = append(bad, a)
	}
	for i := range 10_000 {
		if _, err := take(b, 0, bad[i%len(bad)]); !errors.Is(err, core.ErrProtocol) {
			t.Fatalf("error %v", err)
		}
	}
	if n := changes(b); n != 0 {
		t.Errorf("bad keys changed the breaker %d times", n)
	}
	s.Do("FLUSHALL")
}

// One shard swallows everything: the keys of the other do not notice.
func TestFault_G5(t *testing.T) {
	proxies := map[string]*faultproxy.Proxy{}
	o := &redis.RingOptions{Addrs: map[string]string{}, ContextTimeoutEnabled: true, HeartbeatFrequency: time.Hour, ReadTimeout: time.Minute}
	for _, name := range []string{"a", "b"} {
		proxies[name] = faultproxy.New(t, servers.Redis(t).Addr())
		o.Addrs[name] = proxies[name].Addr()
	}
	c := redis.NewRing(o)
	defer c.Close()
	b := must(t, c, Options{Timeout: 200 * time.Millisecond})
	of := map[string][]core.Ask{}
	for len(of[o.Addrs["a"]]) < 20 || len(of[o.Addrs["b"]]) < 20 {
		a := asking(t, core.GCRA{}, 1_000_000, time.Hour)
		shard, err := c.GetShardClientForKey(nameOf(a))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := take(b, 0, a); err != nil {
			t.Fatal(err)
		}
		addr := shard.Options().Addr
		of[addr] = append(of[addr], a)
	}
	proxies["a"].Set(faultproxy.Mode{Blackhole: true})
	var done atomic.Bool
	var wg sync.WaitGroup
	gone := of[o.Addrs["a"]]
	for i := range 50 {
		wg.Go(func() {
			for k := i; !done.Load(); k++ {
				if _, err := take(b, 0, gone[k%len(gone)]); err == nil {
					t.Error("decided by a shard that swallows everything")
				}
				runtime.Gosched()
			}
		})
	}
	var y tally
	here := of[o.Addrs["b"]]
	for k := range 500 {
		y.take(b, here[k%len(here)])
	}
	done.Store(true)
	wg.Wait()
	if y.failed.Load() > 0 {
		t.Errorf("%d calls to the other shard failed: %v", y.failed.Load(), y.errs)
	}
	y.inTime(t, b)
	for _, s := range b.Breakers() {
		if want := s.Addr == o.Addrs["a"]; s.Open != want {
			t.Errorf("breaker %+v", s)
		}
	}
}

// The client is closed with calls under way: all return in time, and later ones
// say that it is closed.
func TestFault_G11(t *testing.T) {
	s := servers.Redis(t)
	p := faultproxy.New(t, s.Addr())
	c := redis.NewClient(&redis.Options{Addr: p.Addr()})
	b := must(t, c, Options{Timeout: 300 * time.Millisecond})
	next := identities(t, 100)
	crowd(20, func() bool { _, _ = take(b, 0, next()); return false })
	base := runtime.NumGoroutine()
	p.Set(faultproxy.Mode{Delay: 100 * time.Millisecond})
	var y tally
	var begun atomic.Int64
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() { begun.Add(1); y.take(b, next()) })
	}
	eventually(t, func() bool { return begun.Load() == 1000 })
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	y.inTime(t, b, core.ErrUnavailable)
	p.Set(faultproxy.Mode{})
	eventually(t, func() bool { _, err := take(b, 0, next()); return errors.Is(err, ErrClosed) })
	for range 100 {
		if _, err := take(b, 0, next()); !errors.Is(err, ErrClosed) {
			t.Fatalf("after the client was closed: %v", err)
		}
	}
	eventually(t, func() bool { return runtime.NumGoroutine() <= base })
	clean(t, s)
}

// What the caller of a dead server waits, in four modes, 200 at a time.
//
//	go test -run xxx -bench DeadBackend -benchtime 1x
func BenchmarkDeadBackend(b *testing.B) {
	for name, mode := range map[string]faultproxy.Mode{
		"refused": {Refuse: true}, "blackhole": {Blackhole: true}, "drip": {Drip: 20 * time.Millisecond}, "frozen": {},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := servers.Redis(b)
				p := faultproxy.New(b, s.Addr())
				addr := p.Addr()
				if name == "frozen" {
					addr = s.Addr()
				}
				c, dials := dialling(b, redis.Options{Addr: addr})
				backend := must(b, c, Options{})
				next := identities(b, 1000)
				crowd(20, func() bool { _, _ = take(backend, 0, next()); return false })
				p.Set(mode)
				p.Cut()
				if name == "frozen" {
					s.Freeze()
				}
				measure(b, backend, next, dials)
				s.Thaw()
				p.Set(faultproxy.Mode{})
				begun := time.Now()
				for {
					if _, err := take(backend, 0, next()); err == nil {
						break
					}
				}
				b.ReportMetric(float64(time.Since(begun).Milliseconds()), "recovery-ms")
			}
		})
	}
}

// measure has 200 callers come at once, and then 500 a second for four seconds.
func measure(b *testing.B, backend *Backend, next func() core.Ask, dials *atomic.Int64) {
	var mu sync.Mutex
	var first, later []time.Duration
	call := func(into *[]time.Duration) {
		begun := time.Now()
		_, _ = take(backend, 0, next())
		d := time.Since(begun)
		mu.Lock()
		*into = append(*into, d)
		mu.Unlock()
	}
	base, peak := runtime.NumGoroutine(), 0
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() { call(&first) })
	}
	for range 60 {
		peak = max(peak, runtime.NumGoroutine())
		<-time.After(time.Millisecond)
	}
	wg.Wait()
	before, tick := dials.Load(), time.NewTicker(2*time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		<-tick.C
		wg.Go(func() { call(&later) })
	}
	wg.Wait()
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	slices.Sort(later)
	b.ReportMetric(ms(slices.Max(first)), "first-max-ms")
	b.ReportMetric(ms(later[len(later)-1]), "later-max-ms")
	b.ReportMetric(ms(later[len(later)*99/100]), "later-p99-ms")
	b.ReportMetric(float64(dials.Load()-before)/4, "dials/s")
	b.ReportMetric(float64(peak-base-200), "goroutines-beyond-callers")
}

// What a call costs while the breaker is open.
func BenchmarkOpenBreaker(b *testing.B) {
	backend := must(b, plainClient(b, "127.0.0.1:1"), Options{BreakAfter: 2, Timeout: 5 * time.Millisecond, ProbeEvery: time.Hour})
	next := identities(b, 10)
	opens(b, backend, next)
	asks, out := []core.Ask{next()}, make([]core.Verdict, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := backend.Take(background(), 0, asks, out); !errors.Is(err, ErrOpen) {
			b.Fatal(err)
		}
	}
}
