package memory

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

func BenchmarkHot(b *testing.B) {
	r, _ := core.GCRA{}.Bind(core.Rate{Limit: 1_000_000_000, Window: time.Minute})
	sp := core.NewSpace("api", time.Minute.Microseconds(), r.Shape(), nil, nil)
	be := New()
	var st core.SingleTaker = be
	for _, k := range []struct {
		n string
		k core.Key
	}{{"ip", core.KeyOfPrefix(netip.MustParsePrefix("10.0.0.1/32"))}, {"str", core.NewKey("ip", "10.0.0.1")}} {
		b.Run(k.n, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				st.TakeOne(0, core.Ask{Cell: core.Cell{Space: sp, Key: k.k}, Rule: r, Cost: 1})
			}
		})
	}
	b.Run("clock", func(b *testing.B) {
		for b.Loop() {
			be.shared.clock.now()
		}
	})
}
