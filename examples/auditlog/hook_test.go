package main

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/core"
)

// BenchmarkDenial is what a refused request waits for, with the queue drained as
// fast as it fills, and with nothing drained at all.
func BenchmarkDenial(b *testing.B) {
	for name, insert := range map[string]func(context.Context, []Denial) error{
		"drained": func(context.Context, []Denial) error { return nil },
		"stuck":   func(ctx context.Context, _ []Denial) error { <-ctx.Done(); return ctx.Err() },
	} {
		b.Run(name, func(b *testing.B) {
			naming, err := core.NewNaming(core.Naming{Secret: secret})
			if err != nil {
				b.Fatal(err)
			}
			log := NewLog(insert, 4096)
			defer log.giveUp()
			l, err := newLimits(Audit{Log: log, Naming: naming, Now: time.Now})
			if err != nil {
				b.Fatal(err)
			}
			r := httplimit.Request(httptest.NewRequest("GET", "/", nil))
			refuse := func() {
				var v core.Visit
				l.everyone.Enter(r, 0, &v)
				v.Leave()
			}
			for range 60 {
				refuse()
			}
			b.ReportAllocs()
			for b.Loop() {
				refuse()
			}
		})
	}
}
