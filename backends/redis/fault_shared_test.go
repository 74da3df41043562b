package redislimit

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/faultproxy"
)

// The application's clock is a quarter of a century late (in a bubble it starts in
// the year 2000), another host's is right: both decide by the server's, and share
// every window.
func TestAttack_D3(t *testing.T) {
	s := single(t)
	right := on(t, s)
	for _, strategy := range five {
		a := asking(t, strategy, 5, time.Hour)
		admitted := 0
		synctest.Test(t, func(t *testing.T) {
			c := redis.NewClient(&redis.Options{Addr: s.Addr(), PoolSize: 1})
			defer c.Close()
			late := must(t, c, Options{Timeout: patient})
			for range 8 {
				out := make([]core.Verdict, 1)
				now, err := late.Take(background(), 0, []core.Ask{a}, out)
				if err != nil {
					t.Fatal(err)
				}
				if ahead := time.Until(time.UnixMicro(now)); ahead < 20*365*24*time.Hour {
					t.Errorf("decided at the application's %v", time.UnixMicro(now))
				}
				if out[0].OK {
					admitted++
				}
				if v, err := take(right, 0, a); err != nil {
					t.Error(err)
				} else if v.OK {
					admitted++
				}
			}
		})
		if admitted != 5 {
			t.Errorf("%s: %d admitted on both hosts, the limit is 5", strategy.Name(), admitted)
		}
	}
}

// Neither a Backend nor a call that nobody answers leaves a goroutine behind.
func TestFault_G4(t *testing.T) {
	s := single(t)
	p := faultproxy.New(t, s.Addr())
	c := plainClient(t, p.Addr())
	before := runtime.NumGoroutine()
	for range 10_000 {
		if _, err := New(c, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines more for 10,000 backends", n-before)
	}
	p.Set(faultproxy.Mode{Blackhole: true})
	b := must(t, c, Options{Timeout: 5 * time.Millisecond})
	a := asking(t, core.GCRA{}, 5, time.Minute)
	const callers, calls = 64, 10_000
	var y tally
	var most int
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range calls / callers {
				y.take(b, a)
			}
		})
	}
	for y.failed.Load() < calls/2 {
		most = max(most, runtime.NumGoroutine())
		runtime.Gosched()
	}
	wg.Wait()
	y.inTime(t, b, core.ErrUnavailable)
	// A caller, the client's dialling for it, and both ends of the proxy.
	if limit := before + 6*callers; most > limit {
		t.Errorf("%d goroutines for %d callers", most, callers)
	}
	eventually(t, func() bool { return runtime.NumGoroutine() <= before+6*callers/2 })
}

// Another release's keys for the same identities are neither read nor written:
// the version is part of the name.
func TestFault_G8(t *testing.T) {
	s := single(t)
	b := on(t, s)
	for _, strategy := range five {
		a := asking(t, strategy, 3, time.Hour)
		name := nameOf(a)
		if !strings.HasPrefix(name, "rl:1:") {
			t.Fatalf("%s has no version", name)
		}
		others := []string{"rl:" + name[len("rl:1:"):], "rl:0:" + name[len("rl:1:"):], "rl:2:" + name[len("rl:1:"):]}
		for _, other := range others {
			s.Do("SET", other, "17 of something else", "EX", "600")
		}
		for i := range 5 {
			if v, err := take(b, 0, a); err != nil || v.OK != (i < 3) {
				t.Errorf("%s, decision %d: %+v, %v", strategy.Name(), i, v, err)
			}
		}
		for _, other := range others {
			if got := s.Do("GET", other); got != "17 of something else" {
				t.Errorf("%s is now %q", other, got)
			}
		}
	}
}
