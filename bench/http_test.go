package bench

import "testing"

func BenchmarkHTTP(b *testing.B) {
	for _, p := range HTTPPeers {
		b.Run("fw="+p.Framework+"/peer="+p.Name, func(b *testing.B) {
			b.Run("load=allowed", func(b *testing.B) { httpSerial(b, p.New(Open)(), 200) })
			if p.Name != "none" {
				b.Run("load=denied", func(b *testing.B) {
					c := p.New(Shut)()
					c(0)
					httpSerial(b, c, 429)
				})
			}
			b.Run("load=allowed-par2", func(b *testing.B) {
				mk := p.New(Open)
				b.ReportAllocs()
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					c := mk()
					for i := 0; pb.Next(); i++ {
						c(i % IPs)
					}
				})
			})
		})
	}
}

func httpSerial(b *testing.B, c Client, want int) {
	if got := c(0); got != want {
		b.Fatalf("status %d, want %d", got, want)
	}
	b.ReportAllocs()
	for b.Loop() {
		c(0)
	}
}
