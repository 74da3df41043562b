package core

import (
	"testing"
	"time"
)

// BenchmarkDecideCharge is one admitted unit: Decide and Charge, as a backend
// calls them, in a cell that never fills up. About half of it is not arithmetic
// but the caller's copy of the results.
func BenchmarkDecideCharge(b *testing.B) {
	for name, s := range strategies {
		b.Run(name, func(b *testing.B) {
			c := newCounter(b, s, per(10_000_000, 10*time.Second))
			if name == "moving" {
				c = newCounter(b, s, per(10_000, 10*time.Millisecond))
			}
			now := epoch
			b.ReportAllocs()
			for b.Loop() {
				now += 2
				v := c.rule.Decide(c.state, now, c.phase, 1)
				if !v.OK {
					b.Fatal("refused")
				}
				c.state, _ = c.rule.Charge(c.state, now, c.phase, 1)
			}
		})
	}
}
