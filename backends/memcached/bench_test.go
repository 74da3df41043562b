package memcachedlimit

import (
	"fmt"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stint-go/stint/core"
)

// A decision, with few callers and with many.
func BenchmarkTake(b *testing.B) {
	backend := on(b, shared.single())
	for _, s := range []core.Strategy{core.FixedWindow{}, core.SlidingWindow{}, core.BucketedWindow{}, core.GCRA{}} {
		for _, callers := range []int{1, 32} {
			b.Run(fmt.Sprintf("%T callers per CPU %d", s, callers), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(callers)
				b.RunParallel(func(pb *testing.PB) {
					a := asking(b, s, core.MaxLimit, time.Hour)
					for pb.Next() {
						if v, err := take(backend, 0, a); err != nil || !v.OK {
							b.Error(v, err)
							return
						}
					}
				})
			})
		}
	}
}

// BenchmarkIncrement is the least that a decision can be.
func BenchmarkIncrement(b *testing.B) {
	backend := on(b, shared.single())
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers per CPU %d", callers), func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(callers)
			b.RunParallel(func(pb *testing.PB) {
				a := asking(b, core.FixedWindow{}, core.MaxLimit, time.Hour)
				if _, err := take(backend, 0, a); err != nil {
					b.Error(err)
					return
				}
				key := itemOf(b, backend, 0, a)
				client := memcache.NewFromSelector(backend.lanes.selector)
				defer client.Close()
				for pb.Next() {
					if _, err := client.Increment(key, 1); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
