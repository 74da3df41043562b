//go:build !race

// The race detector has pools lose what is put into them.

package fiberlimit_test

import (
	"net"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	fiberlimit "github.com/stint-go/stint/adapters/fiber"
	"github.com/stint-go/stint/core"
)

func TestNothingIsAllocated(t *testing.T) {
	for _, tc := range []struct {
		name, rate string
		status     int
	}{{"allowed", "1000000/s", 200}, {"refused", "0/s", 429}} {
		app := newApp()
		app.Use(fiberlimit.New(limiter(t, core.Policy{Name: "api", Rate: tc.rate})))
		app.Get("/x", func(*fiber.Ctx) error { return nil })
		h := app.Handler()
		c := new(fasthttp.RequestCtx)
		c.Request.SetRequestURI("/x")
		c.Request.Header.SetMethod("GET")
		c.SetRemoteAddr(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4711})
		if got := testing.AllocsPerRun(1000, func() {
			h(c)
			if got := c.Response.StatusCode(); got != tc.status {
				t.Fatalf("%s: status %d", tc.name, got)
			}
			c.Response.Reset()
		}); got != 0 {
			t.Errorf("%s: %v allocations", tc.name, got)
		}
	}
}
