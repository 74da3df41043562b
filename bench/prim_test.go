package bench

import (
	"hash/maphash"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var sink atomic.Int64

// BenchmarkPrim is what the parts of a decision cost on this machine.
func BenchmarkPrim(b *testing.B) {
	run := func(name string, f func()) {
		b.Run("op="+name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
		})
	}
	var n int64
	var sum time.Duration
	seed := maphash.MakeSeed()
	key := keys()[12345]
	var h uint64
	run("time.Now", func() { n += int64(time.Now().Nanosecond()) })
	run("time.Since", func() { sum += time.Since(epoch) })
	run("maphash.String", func() { h += maphash.String(seed, key) })
	var a atomic.Int64
	run("atomic.Add", func() { a.Add(1) })
	var mu sync.Mutex
	run("mutex", func() { mu.Lock(); n++; mu.Unlock() })
	m := map[string]int64{}
	for _, k := range keys()[:manyKeys] {
		m[k] = 1
	}
	run("map[string]/100k-hot", func() { n += m[key] })
	run("itoa", func() { n += int64(len(strconv.FormatInt(1_700_000_000+n&1, 10))) })
	sink.Add(n + int64(sum) + int64(h))

	b.Run("op=atomic.Add-par2", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				a.Add(1)
			}
		})
	})
	b.Run("op=mutex-par2", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				mu.Lock()
				n++
				mu.Unlock()
			}
		})
	})
}
