package bench

import (
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/limiter"
	"github.com/valyala/fasthttp"
)

func fiberPeer(alg limiter.LimiterHandler) func(Quota) func() Client {
	return func(q Quota) func() Client {
		return fiberHTTP(func() fiber.Handler {
			return limiter.New(limiter.Config{Max: q.N, Expiration: q.Per, LimiterMiddleware: alg})
		})
	}
}

func init() {
	HTTPPeers = append(HTTPPeers,
		HTTPPeer{"fiber", "fiber-fixed", fiberPeer(limiter.FixedWindow{})},
		HTTPPeer{"fiber", "fiber-sliding", fiberPeer(limiter.SlidingWindow{})},
	)
	// Fiber's store is private, so its "decision" is a whole app call with a
	// key taken from the context: its layer A numbers carry the app (see the
	// fiber/none row of layer B).
	MemoryPeers = append(MemoryPeers, MemoryPeer{"fiber(app)", func(q Quota) Decider {
		app := fiber.New(fiber.Config{DisableStartupMessage: true})
		app.Use(limiter.New(limiter.Config{
			Max: q.N, Expiration: q.Per,
			KeyGenerator: func(c *fiber.Ctx) string { return c.Context().UserValue(0).(string) },
		}))
		app.Get("/x", func(c *fiber.Ctx) error { return nil })
		h := app.Handler()
		pool := sync.Pool{New: func() any {
			c := new(fasthttp.RequestCtx)
			c.Request.SetRequestURI("/x")
			return c
		}}
		return DeciderFunc(func(k string) bool {
			c := pool.Get().(*fasthttp.RequestCtx)
			c.SetUserValue(0, k)
			h(c)
			ok := c.Response.StatusCode() == 200
			c.Response.Reset()
			pool.Put(c)
			return ok
		})
	}})
}
