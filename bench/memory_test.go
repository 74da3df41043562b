package bench

import (
	"fmt"
	"math/rand"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

const (
	manyKeys   = 100_000
	zipfKeys   = 1_000_000
	uniqueKeys = 1_000_000
)

// keys are IPv4 addresses, 8 to 14 bytes.
var keys = sync.OnceValue(func() []string {
	ks, end := make([]string, zipfKeys), make([]int, zipfKeys)
	var b []byte // one backing array, so that the keys weigh nothing on the GC
	for i := range ks {
		b = fmt.Appendf(b, "10.%d.%d.%d", i>>16&255, i>>8&255, i&255)
		end[i] = len(b)
	}
	all, from := string(b), 0
	for i := range ks {
		ks[i] = all[from:end[i]]
		from = end[i]
	}
	return ks
})

// zipf is a fixed sequence of 4M draws with s=1.1 over 1M keys.
var zipf = sync.OnceValue(func() []uint32 {
	z := rand.NewZipf(rand.New(rand.NewSource(1)), 1.1, 1, zipfKeys-1)
	seq := make([]uint32, 1<<22)
	perm := rand.New(rand.NewSource(2)).Perm(zipfKeys) // spread the ranks over the key space
	for i := range seq {
		seq[i] = uint32(perm[z.Uint64()])
	}
	return seq
})

// uniform is the same for 100k keys drawn uniformly.
var uniform = sync.OnceValue(func() []uint32 {
	r := rand.New(rand.NewSource(3))
	seq := make([]uint32, 1<<20)
	for i := range seq {
		seq[i] = uint32(r.Intn(manyKeys))
	}
	return seq
})

func parallel(b *testing.B, d Decider, seq []uint32, perProc int) {
	ks := keys()
	mask := len(seq) - 1
	var start atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(perProc)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		i := int(start.Add(1)) * 7919
		for pb.Next() {
			d.Allow(ks[seq[i&mask]])
			i++
		}
	})
}

func BenchmarkMemory(b *testing.B) {
	keys()
	zipf()
	uniform()
	for _, p := range MemoryPeers {
		b.Run("peer="+p.Name, func(b *testing.B) {
			one := []uint32{0}
			b.Run("load=hot-serial", func(b *testing.B) {
				d, k := p.New(Open), keys()[0]
				b.ReportAllocs()
				for b.Loop() {
					d.Allow(k)
				}
			})
			b.Run("load=hot-denied", func(b *testing.B) {
				d, k := p.New(Shut), keys()[0]
				b.ReportAllocs()
				for b.Loop() {
					d.Allow(k)
				}
			})
			d := p.New(Open)
			b.Run("load=hot-par2", func(b *testing.B) { parallel(b, d, one, 1) })
			b.Run("load=hot-par64", func(b *testing.B) { parallel(b, d, one, 32) })
			for _, k := range keys()[:manyKeys] {
				d.Allow(k)
			}
			b.Run("load=100k-par2", func(b *testing.B) { parallel(b, d, uniform(), 1) })
			b.Run("load=100k-par64", func(b *testing.B) { parallel(b, d, uniform(), 32) })
			for _, k := range keys() {
				d.Allow(k)
			}
			runtime.GC()
			b.Run("load=zipf1M-par2", func(b *testing.B) { parallel(b, d, zipf(), 1) })
		})
	}
}

// BenchmarkUnique gives every request a new key. One op is 1M decisions on a
// fresh store, so growth is included; run it with -benchtime=1x.
func BenchmarkUnique(b *testing.B) {
	for _, p := range MemoryPeers {
		for _, procs := range []int{1, 2} {
			b.Run(fmt.Sprintf("peer=%s/load=unique-par%d", p.Name, procs), func(b *testing.B) {
				ks := keys()
				d := p.New(Open)
				runtime.GC()
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					var wg sync.WaitGroup
					for w := range procs {
						wg.Go(func() {
							for i := w; i < uniqueKeys; i += procs {
								d.Allow(ks[i])
							}
						})
					}
					wg.Wait()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*uniqueKeys), "ns/decision")
			})
		}
	}
}
