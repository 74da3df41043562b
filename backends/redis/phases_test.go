package redislimit

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/faultproxy"
	"github.com/stint-go/stint/internal/servers"
)

// neighbours are asks whose cells are in different slots of one server.
func neighbours(t *testing.T, b *Backend, n int, limit int64) (asks []core.Ask) {
	t.Helper()
	var home *redis.Client
	for len(asks) < n {
		a := asking(t, five[len(asks)%len(five)], limit, 24*time.Hour)
		server := serverOf(t, b, a)
		if home == nil || server == home {
			home, asks = server, append(asks, a)
		}
	}
	return asks
}

// The replies to a pipeline are lost: every charge in it counts at most once.
func TestFault_A5Pipelines(t *testing.T) {
	s := single(t)
	p := faultproxy.New(t, s.Addr())
	c := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"only": p.Addr()}, ContextTimeoutEnabled: true})
	defer c.Close()
	b := must(t, c, Options{Timeout: 200 * time.Millisecond, BreakAfter: -1})
	direct := on(t, s)
	asks := neighbours(t, b, 3, 1000)
	out := make([]core.Verdict, len(asks))
	if _, err := b.Take(background(), 0, asks, out); err != nil { // the scripts are known from here on
		t.Fatal(err)
	}
	receipts, refund := make([]core.Receipt, len(asks)), []int64{-1, -1, -1}
	for i := range out {
		receipts[i] = out[i].Receipt
	}
	if err := b.Settle(background(), 0, asks, receipts, []int64{1, 1, 1}); err != nil {
		t.Fatal(err)
	}
	p.Set(faultproxy.Mode{DropReply: []byte("evalsha")})
	const calls = 40
	for range calls {
		if _, err := b.Take(background(), 0, asks, out); err == nil {
			t.Fatal("an answer came through")
		}
	}
	for _, a := range asks {
		if n := units(t, direct, a); n != 2+calls {
			t.Errorf("%s: %d units for %d calls", a.Rule.Shape(), n, 2+calls)
		}
	}
	if err := b.Settle(background(), 0, asks, receipts, refund); err == nil {
		t.Fatal("an answer came through")
	}
	p.Set(faultproxy.Mode{})
	for _, a := range asks {
		if n := units(t, direct, a); n != 1+calls {
			t.Errorf("%s: %d units after a refund whose reply was lost", a.Rule.Shape(), n)
		}
	}
}

// Scripts are flushed, and slots move, while decisions take several slots: no
// charge is lost, and none is made twice.
func TestFault_B4Pipelines(t *testing.T) {
	cl := shared.cluster()
	tidy(t, func() []*servers.Server { return cl.Nodes })
	b := onCluster(t, patient)
	const n = 1500
	asks := neighbours(t, b, 3, n)
	var y tally
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !done.Load() && !t.Failed() {
				out := make([]core.Verdict, len(asks))
				_, err := b.Take(background(), 0, asks, out)
				switch {
				case err != nil || out[0].Err != nil || out[1].Err != nil || out[2].Err != nil:
					t.Errorf("%v %+v", err, out)
				case out[0].OK && out[1].OK && out[2].OK:
					y.admitted.Add(1)
				default:
					y.refused.Add(1)
				}
			}
		})
	}
	owners := make([]*servers.Server, len(asks))
	for i := range 6 {
		owners[i%3] = move(t, cl, slotOf(asks[i%3]))
		for _, node := range cl.Nodes {
			node.Do("SCRIPT", "FLUSH")
		}
	}
	eventually(t, func() bool {
		for i, a := range asks {
			agreed(t, cl, slotOf(a), owners[i])
		}
		return y.refused.Load() > 100 || t.Failed()
	})
	done.Store(true)
	wg.Wait()
	for { // decisions that met a charge which was given back may have left some
		out := make([]core.Verdict, len(asks))
		if _, err := b.Take(background(), 0, asks, out); err != nil {
			t.Fatal(err)
		}
		if !out[0].OK || !out[1].OK || !out[2].OK {
			break
		}
		y.admitted.Add(1)
	}
	if got := y.admitted.Load(); got != n {
		t.Errorf("%d admitted, the limit is %d", got, n)
	}
	for _, a := range asks {
		if used := units(t, b, a); used != n {
			t.Errorf("%s: %d units used of %d", a.Rule.Shape(), used, n)
		}
	}
}
