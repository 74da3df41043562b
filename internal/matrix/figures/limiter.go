package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	redislimit "github.com/stint-go/stint/backends/redis"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

const ms = float64(time.Millisecond)

// limiter is one as most people make it: default options, default failure policy.
func limiter(tb servers.TB, c redis.UniversalClient, o redislimit.Options) *core.Limiter {
	tb.Cleanup(func() { _ = c.Close() })
	b, err := redislimit.New(c, o)
	if err == nil {
		var l *core.Limiter
		p := core.Policy{Name: "api", Rate: "1000000000/d", Strategy: core.FixedWindow{}}
		if l, err = core.New(core.Config{Backend: b, Policies: []core.Policy{p}, Logger: slog.New(slog.DiscardHandler)}); err == nil {
			return l
		}
	}
	tb.Fatalf("%v", err)
	return nil
}

// decide makes a decision for a client of many, and tells how long it took and
// whether it was exact: made by the backend itself.
func decide(tb servers.TB, l *core.Limiter, key string) (took time.Duration, exact bool) {
	start := time.Now()
	d, err := l.Allow(context.Background(), "api", core.NewKey("k", key), 1)
	took = time.Since(start)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return took, !d.Degraded
}

// exactAfter is the time from now to the first exact decision.
func exactAfter(tb servers.TB, l *core.Limiter) time.Duration {
	start := time.Now()
	for time.Since(start) < time.Minute {
		if _, exact := decide(tb, l, fmt.Sprint("r", rand.IntN(100))); exact {
			return time.Since(start)
		}
		time.Sleep(time.Millisecond)
	}
	tb.Fatalf("no exact decision within a minute")
	return 0
}

// openLoop makes decisions at a steady rate, whether or not those before have
// returned, so that slow ones hide none that should have begun meanwhile.
func openLoop(tb servers.TB, l *core.Limiter, perSecond int, lasting time.Duration) (late []time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	pause := time.Second / time.Duration(perSecond)
	for start, i := time.Now(), 0; time.Since(start) < lasting; i++ {
		wg.Go(func() {
			took, _ := decide(tb, l, fmt.Sprint(i%100))
			mu.Lock()
			defer mu.Unlock()
			late = append(late, took)
		})
		time.Sleep(time.Until(start.Add(time.Duration(i+1) * pause)))
	}
	wg.Wait()
	return late
}

// share is the value that this share of all do not pass.
func share(of []time.Duration, p float64) time.Duration {
	slices.Sort(of)
	return of[min(len(of)-1, int(p*float64(len(of))))]
}
