package bench

import "testing"

func BenchmarkFeature(b *testing.B) {
	for _, f := range Features {
		b.Run("feature="+f.Name, func(b *testing.B) {
			do := f.New()
			do()
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}
