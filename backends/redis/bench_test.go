package redislimit

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

// One decision of one ask, admitted.
func BenchmarkTake(b *testing.B) {
	for _, strategy := range five {
		b.Run(strategy.Name(), func(b *testing.B) {
			backend := on(b, shared.single())
			a := asking(b, strategy, 10_000, time.Second)
			asks, out := []core.Ask{a}, make([]core.Verdict, 1)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := backend.Take(background(), 0, asks, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Five limits in one decision.
func BenchmarkTakeFive(b *testing.B) {
	backend := on(b, shared.single())
	var asks []core.Ask
	for _, strategy := range five {
		asks = append(asks, asking(b, strategy, 10_000, time.Second))
	}
	out := make([]core.Verdict, len(asks))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := backend.Take(background(), 0, asks, out); err != nil {
			b.Fatal(err)
		}
	}
}

// What a full log costs, in time of the server per decision and in memory per
// key: one unit is admitted as one is given back, or refused.
func BenchmarkMovingWindow(b *testing.B) {
	for _, limit := range []int64{10, 1000, 100_000} {
		for _, admitted := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d admitted %v", limit, admitted), func(b *testing.B) {
				s := shared.single()
				backend := on(b, s)
				const start, apart = 1_700_000_000_000_000, 1000
				a := asking(b, core.MovingWindow{Max: limit}, limit, time.Duration(limit*apart)*time.Microsecond)
				name, _ := cellName(&a.Cell, true)
				for i := int64(0); i < limit; i += 1000 {
					line := []string{"RPUSH", name}
					if i == 0 {
						line = append(line, "0", "0")
					}
					for k := i; k < min(i+1000, limit); k++ {
						line = append(line, strconv.FormatInt(start+k*apart, 10), strconv.FormatInt(k+1, 10))
					}
					s.Do(line...)
				}
				s.Do("PEXPIRE", name, "3600000")
				memory, _ := strconv.ParseFloat(s.Do("MEMORY", "USAGE", name, "SAMPLES", "0"), 64)
				at := start + (limit-1)*apart
				asks, out := []core.Ask{a}, make([]core.Verdict, 1)
				s.Do("CONFIG", "RESETSTAT")
				for b.Loop() {
					if admitted {
						at += apart
					}
					if _, err := backend.Take(background(), at, asks, out); err != nil || out[0].OK != admitted {
						b.Fatal(out[0], err)
					}
				}
				b.ReportMetric(memory, "B/key")
				b.ReportMetric(perCall(b, s.Do("INFO", "commandstats")), "server-µs/op")
				s.Do("DEL", name)
			})
		}
	}
}

func perCall(b *testing.B, stats string) float64 {
	_, rest, _ := strings.Cut(stats, "cmdstat_evalsha:")
	_, rest, _ = strings.Cut(rest, "usec_per_call=")
	text, _, _ := strings.Cut(rest, ",")
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		b.Fatal(err)
	}
	return f
}

// Settling one charge: a refund, and the charge itself.
func BenchmarkSettle(b *testing.B) {
	for _, strategy := range five {
		b.Run(strategy.Name(), func(b *testing.B) {
			s := shared.single()
			backend := on(b, s)
			a := asking(b, strategy, 10_000, time.Hour)
			asks, out := []core.Ask{a}, make([]core.Verdict, 1)
			receipts, delta := make([]core.Receipt, 1), []int64{-1}
			s.Do("CONFIG", "RESETSTAT")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := backend.Take(background(), 0, asks, out); err != nil || !out[0].OK {
					b.Fatal(out, err)
				}
				receipts[0] = out[0].Receipt
				if err := backend.Settle(background(), 0, asks, receipts, delta); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(perCall(b, s.Do("INFO", "commandstats")), "server-µs/command")
		})
	}
}

// A decision over four slots of a cluster that is refused: two trips.
func BenchmarkTakeApart(b *testing.B) {
	backend := onCluster(b, patient)
	full := asking(b, core.GCRA{}, 1, 24*time.Hour)
	asks := []core.Ask{full}
	for range 3 {
		asks = append(asks, asking(b, core.GCRA{}, 1_000_000, time.Hour))
	}
	out := make([]core.Verdict, len(asks))
	if _, err := backend.Take(background(), 0, asks, out); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := backend.Take(background(), 0, asks, out); err != nil || out[0].OK {
			b.Fatal(out, err)
		}
	}
}
