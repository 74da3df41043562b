package main

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stint-go/stint/bench"
)

// measure has callers ask for random keys until the time is over.
func measure(allow bench.RemoteDecider, keys []string, callers int, length time.Duration) (*bench.Hist, time.Duration, error) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		stop  atomic.Bool
		all   bench.Hist
		first error
	)
	start := time.Now()
	for w := range callers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), uint64(start.UnixNano())))
			own, err := new(bench.Hist), error(nil)
			for !stop.Load() && err == nil {
				t := time.Now()
				_, err = allow(background, keys[r.IntN(len(keys))])
				own.Add(int64(time.Since(t)))
			}
			mu.Lock()
			defer mu.Unlock()
			all.Merge(own)
			if first == nil {
				first = err
			}
		})
	}
	time.Sleep(length)
	stop.Store(true)
	wg.Wait()
	return &all, time.Since(start), first
}
