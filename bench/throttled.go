package bench

import (
	"context"
	"net/http"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
)

func throttledLimiter(s throttled.GCRAStoreCtx, q Quota) *throttled.GCRARateLimiterCtx {
	return must(throttled.NewGCRARateLimiterCtx(s, throttled.RateQuota{
		MaxRate: throttled.PerDuration(q.N, q.Per), MaxBurst: q.N - 1,
	}))
}

func throttledMemory(maxKeys int) func(Quota) Decider {
	return func(q Quota) Decider {
		l, ctx := throttledLimiter(must(memstore.NewCtx(maxKeys)), q), context.Background()
		return DeciderFunc(func(k string) bool {
			limited, _, _ := l.RateLimitCtx(ctx, k, 1)
			return !limited
		})
	}
}

func init() {
	MemoryPeers = append(MemoryPeers,
		MemoryPeer{"throttled", throttledMemory(0)},
		MemoryPeer{"throttled-lru1M", throttledMemory(1 << 20)},
	)
	HTTPPeers = append(HTTPPeers, HTTPPeer{"nethttp", "throttled", func(q Quota) func() Client {
		h := throttled.HTTPRateLimiterCtx{
			RateLimiter: throttledLimiter(must(memstore.NewCtx(1<<16)), q),
			VaryBy:      &throttled.VaryBy{RemoteAddr: true},
		}
		return netHTTP(func(next http.Handler) http.Handler { return h.RateLimit(next) })
	}})
}
