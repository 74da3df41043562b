package bench

import (
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"golang.org/x/time/rate"
)

func echoStore(q Quota) *middleware.RateLimiterMemoryStore {
	return middleware.NewRateLimiterMemoryStoreWithConfig(middleware.RateLimiterMemoryStoreConfig{
		Rate: rate.Limit(q.PerSecond()), Burst: q.N, ExpiresIn: q.Sweep,
	})
}

// Echo's middleware sets no headers at all.
func init() {
	MemoryPeers = append(MemoryPeers, MemoryPeer{"echo", func(q Quota) Decider {
		s := echoStore(q)
		return DeciderFunc(func(k string) bool {
			ok, _ := s.Allow(k)
			return ok
		})
	}})
	HTTPPeers = append(HTTPPeers, HTTPPeer{"echo", "echo", func(q Quota) func() Client {
		return echoHTTP(func() echo.MiddlewareFunc { return middleware.RateLimiter(echoStore(q)) })
	}})
}
