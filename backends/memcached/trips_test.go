package memcachedlimit

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/faultproxy"
)

// Round trips per decision: the table of the README.
func TestRoundTrips(t *testing.T) {
	var trips atomic.Int64
	p := faultproxy.New(t, shared.single().Addr())
	p.Set(faultproxy.Mode{Corrupt: func(reply []byte) []byte { trips.Add(1); return reply }})
	b := dialling(t, patient, p.Addr())
	spent := func(what string, want int64, asks ...core.Ask) {
		t.Helper()
		before := trips.Load()
		out := make([]core.Verdict, len(asks))
		if _, err := b.Take(context.Background(), 0, asks, out); err != nil {
			t.Fatal(err)
		}
		if got := trips.Load() - before; got != want {
			t.Errorf("%s: %d round trips, want %d", what, got, want)
		}
	}
	for _, c := range []struct {
		strategy                      core.Strategy
		first, admitted, refused, two int64
	}{
		{core.FixedWindow{}, 2, 1, 2, 3},
		{core.SlidingWindow{}, 3, 2, 1, 3},
		{core.BucketedWindow{}, 3, 2, 1, 3},
		{core.FixedWindow{Align: core.FirstHit}, 2, 2, 1, 3},
		{core.MovingWindow{}, 2, 2, 1, 3},
		{core.GCRA{}, 2, 2, 1, 3},
	} {
		name := fmt.Sprintf("%T%+v", c.strategy, c.strategy)
		a := asking(t, c.strategy, 3, time.Hour)
		spent(name+" first", c.first, a)
		spent(name+" admitted", c.admitted, a)
		spent(name+" admitted", c.admitted, a)
		spent(name+" refused", c.refused, a)
		look := a
		look.When = core.Never
		spent(name+" look", 1, look)

		x, y := asking(t, c.strategy, 3, time.Hour), asking(t, c.strategy, 2, 2*time.Hour)
		if _, err := b.Take(context.Background(), 0, []core.Ask{x, y}, make([]core.Verdict, 2)); err != nil {
			t.Fatal(err)
		}
		spent(name+" two admitted", c.two, x, y)
		spent(name+" two refused", 1, x, y)
	}
}
