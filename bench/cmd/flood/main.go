// Command flood measures one layer A peer in a process of its own.
//
//	flood -peer=ulule -mode=heap    heap bytes per key with 1M live keys
//	flood -peer=ulule -mode=attack  5M unique keys in 1 s windows: latency of the
//	                                attacker's and of a victim's calls, heap before,
//	                                at the peak and after it has gone quiet
package main

import (
	"flag"
	"fmt"
	"log"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	peers "github.com/stint-go/stint/bench"
)

var (
	peer  = flag.String("peer", "", "peer name")
	mode  = flag.String("mode", "heap", "heap or attack")
	calls = flag.Int("n", 5_000_000, "attack: number of unique keys")
	live  = flag.Int("live", 1_000_000, "heap: number of live keys")
)

func main() {
	flag.Parse()
	for _, p := range peers.MemoryPeers {
		if *peer == "" {
			fmt.Println(p.Name)
		} else if p.Name == *peer {
			if *mode == "heap" {
				heap(p)
			} else {
				attack(p)
			}
			return
		}
	}
	if *peer != "" {
		log.Fatalf("no peer %q", *peer)
	}
}

// key makes a fresh string each time, as a server does: a store that keeps it
// pays for it.
func key(i int) string {
	var b [16]byte
	out := append(b[:0], "10."...)
	out = strconv.AppendInt(out, int64(i>>16&255), 10)
	out = append(out, '.')
	out = strconv.AppendInt(out, int64(i>>8&255), 10)
	out = append(out, '.')
	out = strconv.AppendInt(out, int64(i&255), 10)
	if i >= 1<<24 {
		out = append(out, ':')
		out = strconv.AppendInt(out, int64(i>>24), 10)
	}
	return string(out)
}

func heapNow() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func heap(p peers.MemoryPeer) {
	base := heapNow()
	d := p.New(peers.Quota{N: 100, Per: time.Hour, Sweep: time.Hour})
	for i := range *live {
		d.Allow(key(i))
	}
	h := heapNow()
	t := time.Now()
	runtime.GC()
	fmt.Printf("BenchmarkHeap/peer=%s 1 %.1f heapB/key %.1f fullGC-ms\n", p.Name, float64(h-base)/float64(*live), float64(time.Since(t).Microseconds())/1000)
	runtime.KeepAlive(d)
}

func attack(p peers.MemoryPeer) {
	base := heapNow()
	d := p.New(peers.Quota{N: 1000, Per: time.Second, Sweep: time.Second})
	var att, vic peers.Hist
	var done atomic.Bool
	quiet := make(chan struct{})
	go func() { // a well-behaved client, one call every 20 us or so
		defer close(quiet)
		for !done.Load() {
			t := time.Now()
			d.Allow("victim")
			vic.Add(int64(time.Since(t)))
			for s := time.Now(); time.Since(s) < 20*time.Microsecond; {
			}
		}
	}()
	start := time.Now()
	var peak uint64
	var m runtime.MemStats
	for i := range *calls {
		k := key(i)
		t := time.Now()
		d.Allow(k)
		att.Add(int64(time.Since(t)))
		if i&0x3ffff == 0 {
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}
	el := time.Since(start)
	done.Store(true)
	<-quiet
	end := heapNow()
	for range 35 { // ordinary light traffic for 3.5 s, so that lazy sweeps can run
		time.Sleep(100 * time.Millisecond)
		d.Allow("victim")
	}
	after := heapNow()
	mb := func(b uint64) float64 { return float64(b-min(b, base)) / (1 << 20) }
	fmt.Printf("BenchmarkAttack/peer=%s %d %.0f ns/op %d p50-ns %d p99-ns %d p99.9-ns %d max-ns %d victim-p50-ns %d victim-p99.9-ns %d victim-max-ns %.0f peak-MiB %.0f end-MiB %.0f after-MiB\n",
		p.Name, *calls, float64(el.Nanoseconds())/float64(*calls),
		att.Quantile(.5), att.Quantile(.99), att.Quantile(.999), att.Max(),
		vic.Quantile(.5), vic.Quantile(.999), vic.Max(), mb(peak), mb(end), mb(after))
	runtime.KeepAlive(d)
}
