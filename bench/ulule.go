package bench

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/ulule/limiter/v3"
	mgin "github.com/ulule/limiter/v3/drivers/middleware/gin"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

func ululeMemory(q Quota) *limiter.Limiter {
	o := limiter.StoreOptions{Prefix: limiter.DefaultPrefix, CleanUpInterval: limiter.DefaultCleanUpInterval}
	if q.Sweep > 0 {
		o.CleanUpInterval = q.Sweep
	}
	return limiter.New(memory.NewStoreWithOptions(o), limiter.Rate{Period: q.Per, Limit: int64(q.N)})
}

func init() {
	MemoryPeers = append(MemoryPeers, MemoryPeer{"ulule", func(q Quota) Decider {
		l, ctx := ululeMemory(q), context.Background()
		return DeciderFunc(func(k string) bool {
			c, _ := l.Get(ctx, k)
			return !c.Reached
		})
	}})
	HTTPPeers = append(HTTPPeers,
		HTTPPeer{"gin", "ulule", func(q Quota) func() Client {
			return ginHTTP(func() gin.HandlerFunc { return mgin.NewMiddleware(ululeMemory(q)) })
		}},
		HTTPPeer{"nethttp", "ulule", func(q Quota) func() Client {
			mw := stdlib.NewMiddleware(ululeMemory(q))
			return netHTTP(func(next http.Handler) http.Handler { return mw.Handler(next) })
		}},
	)
}
