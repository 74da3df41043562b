package bench

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v2"
	"github.com/labstack/echo/v4"

	echolimit "github.com/stint-go/stint/adapters/echo"
	fiberlimit "github.com/stint-go/stint/adapters/fiber"
	ginlimit "github.com/stint-go/stint/adapters/gin"
	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// stint is this library under one policy.
func stint(q Quota, s core.Strategy, headers ...core.Headers) *core.Limiter {
	rate, s := open(q, s)
	c := core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "api", Rates: core.Rates{rate}, Strategy: s}},
	}
	for _, h := range headers {
		c.Headers |= h
	}
	return must(core.New(c))
}

// open is the quota as a rate. One that is larger than a rate may be is cut to
// what still admits more than a benchmark can send: 2^31 units at once and a
// million a second in GCRA, 2^31 a minute elsewhere.
func open(q Quota, s core.Strategy) (core.Rate, core.Strategy) {
	rate := core.Rate{Limit: int64(q.N), Window: q.Per}
	if rate.Limit <= core.MaxLimit {
		return rate, s
	}
	rate.Limit = core.MaxLimit
	if _, ok := s.(core.GCRA); ok {
		rate.Limit = q.Per.Microseconds()
		s = core.GCRA{Burst: core.MaxLimit}
	}
	return rate, s
}

// The rows of layer A ask for a ready key, as peers are asked for a string.

// gate asks through Gate.Admit: yes or no.
type gate struct {
	*core.Gate
	ctx context.Context
}

func (g *gate) Allow(k string) bool {
	ok, _ := g.Admit(g.ctx, k, 1)
	return ok
}

// allow asks through Limiter.Allow, for the whole Decision.
type allow struct {
	*core.Limiter
	ctx context.Context
}

func (l *allow) Allow(k string) bool {
	d, _ := l.Limiter.Allow(l.ctx, "api", core.NewKey("ip", k), 1)
	return d.Allowed
}

func stintGate(s core.Strategy) func(Quota) Decider {
	return func(q Quota) Decider { return &gate{must(stint(q, s).Gate("api", "ip")), context.Background()} }
}

func stintAllow(s core.Strategy) func(Quota) Decider {
	return func(q Quota) Decider { return &allow{stint(q, s), context.Background()} }
}

func init() {
	MemoryPeers = append(MemoryPeers,
		MemoryPeer{"stint", stintGate(core.GCRA{})},
		MemoryPeer{"stint-sliding", stintGate(core.SlidingWindow{})},
		MemoryPeer{"stint-fixed", stintGate(core.FixedWindow{})},
		MemoryPeer{"stint-allow", stintAllow(core.GCRA{})},
	)
	HTTPPeers = append(HTTPPeers,
		HTTPPeer{"nethttp", "stint", func(q Quota) func() Client {
			return netHTTP(func(next http.Handler) http.Handler { return httplimit.New(stint(q, core.GCRA{}))(next) })
		}},
		HTTPPeer{"gin", "stint", func(q Quota) func() Client {
			return ginHTTP(func() gin.HandlerFunc { return ginlimit.New(stint(q, core.GCRA{})) })
		}},
		HTTPPeer{"echo", "stint", func(q Quota) func() Client {
			return echoHTTP(func() echo.MiddlewareFunc { return echolimit.New(stint(q, core.GCRA{})) })
		}},
		HTTPPeer{"echo", "stint-nofields", func(q Quota) func() Client {
			return echoHTTP(func() echo.MiddlewareFunc { return echolimit.New(stint(q, core.GCRA{}, core.HeadersNone)) })
		}},
		HTTPPeer{"fiber", "stint", func(q Quota) func() Client {
			return fiberHTTP(func() fiber.Handler { return fiberlimit.New(stint(q, core.GCRA{})) })
		}},
	)
}
