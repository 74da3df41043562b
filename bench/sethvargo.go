package bench

import (
	"context"
	"net/http"

	"github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
)

func sethvargoStore(q Quota) limiter.Store {
	return must(memorystore.New(&memorystore.Config{
		Tokens: uint64(q.N), Interval: q.Per, SweepInterval: q.Sweep, SweepMinTTL: q.Sweep,
	}))
}

func init() {
	MemoryPeers = append(MemoryPeers, MemoryPeer{"sethvargo", func(q Quota) Decider {
		s, ctx := sethvargoStore(q), context.Background()
		return DeciderFunc(func(k string) bool {
			_, _, _, ok, _ := s.Take(ctx, k)
			return ok
		})
	}})
	HTTPPeers = append(HTTPPeers, HTTPPeer{"nethttp", "sethvargo", func(q Quota) func() Client {
		mw := must(httplimit.NewMiddleware(sethvargoStore(q), httplimit.IPKeyFunc()))
		return netHTTP(func(next http.Handler) http.Handler { return mw.Handle(next) })
	}})
}
