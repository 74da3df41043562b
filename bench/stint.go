package bench

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	ginlimit "github.com/stint-go/stint/adapters/gin"
	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// stint is this library under one policy. The quota's size is cut to what a
// rate may be: 2^31 per minute still admits more than a benchmark can send.
func stint(q Quota, s core.Strategy) *core.Limiter {
	rate := core.Rate{Limit: min(int64(q.N), core.MaxLimit), Window: q.Per}
	return must(core.New(core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "api", Rates: core.Rates{rate}, Strategy: s}},
	}))
}

// stintMemory asks for a ready key, as peers are asked for a string.
func stintMemory(s core.Strategy) func(Quota) Decider {
	return func(q Quota) Decider {
		l, ctx := stint(q, s), context.Background()
		return DeciderFunc(func(k string) bool {
			d, _ := l.Allow(ctx, "api", core.NewKey("ip", k), 1)
			return d.Allowed
		})
	}
}

func init() {
	MemoryPeers = append(MemoryPeers,
		MemoryPeer{"stint", stintMemory(core.GCRA{})},
		MemoryPeer{"stint-sliding", stintMemory(core.SlidingWindow{})},
		MemoryPeer{"stint-fixed", stintMemory(core.FixedWindow{})},
	)
	HTTPPeers = append(HTTPPeers,
		HTTPPeer{"nethttp", "stint", func(q Quota) func() Client {
			return netHTTP(func(next http.Handler) http.Handler { return httplimit.New(stint(q, core.GCRA{}))(next) })
		}},
		HTTPPeer{"gin", "stint", func(q Quota) func() Client {
			return ginHTTP(func() gin.HandlerFunc { return ginlimit.New(stint(q, core.GCRA{})) })
		}},
	)
}
