package matrix

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v2"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/stint-go/stint/core/adaptertest"
)

// settings are the frameworks with routers set up in other ways than by default.
var settings = []adaptertest.Adapter{
	ginWith("Gin, lenient", func(e *gin.Engine) {
		e.RemoveExtraSlash, e.RedirectFixedPath, e.HandleMethodNotAllowed = true, true, true
	}),
	ginWith("Gin, raw paths", func(e *gin.Engine) { e.UseRawPath, e.UnescapePathValues = true, true }),
	ginWith("Gin, escaped paths", func(e *gin.Engine) { e.UseEscapedPath, e.RedirectTrailingSlash = true, false }),
	echoWith("Echo without slashes", middleware.RemoveTrailingSlash()),
	echoWith("Echo with rewrites", middleware.Rewrite(map[string]string{"/x/*": "/$1", "/LOGIN": "/login"})),
	echoWith("Echo with another method", middleware.MethodOverride()),
	fiberWith("Fiber, strict", fiber.Config{StrictRouting: true, CaseSensitive: true}),
	fiberWith("Fiber, unescaping", fiber.Config{UnescapePath: true}),
	fiberWith("Fiber, immutable", fiber.Config{Immutable: true}),
	fiberWith("Fiber, streaming", fiber.Config{StreamRequestBody: true}),
}

func ginWith(name string, set func(*gin.Engine)) adaptertest.Adapter {
	a := ginAdapter
	a.Name = name
	a.Serve = func(tb testing.TB, l net.Listener, app adaptertest.App) {
		e := gin.New()
		set(e)
		serveGinOn(e, tb, l, app)
	}
	return a
}

func echoWith(name string, pre echo.MiddlewareFunc) adaptertest.Adapter {
	a := echoAdapter
	a.Name = name
	a.Serve = func(tb testing.TB, l net.Listener, app adaptertest.App) {
		e := echo.New()
		e.Pre(pre)
		serveEchoOn(e, tb, l, app)
	}
	return a
}

func fiberWith(name string, c fiber.Config) adaptertest.Adapter {
	a := fiberAdapter
	a.Name = name
	a.Serve = func(tb testing.TB, l net.Listener, app adaptertest.App) { serveFiberWith(c, tb, l, app) }
	return a
}

// TestStreamedBodies: with StreamRequestBody, Fiber calls handlers before it has
// read the body.
func TestStreamedBodies(t *testing.T) {
	a := fiberWith("Fiber, streaming", fiber.Config{StreamRequestBody: true})
	a.Differs = slices.DeleteFunc(slices.Clone(a.Differs), func(d adaptertest.Difference) bool {
		return strings.HasPrefix(d.Row, "chunk ") || d.Row == "no last chunk"
	})
	a.Differs = append(a.Differs, adaptertest.Difference{
		Row: "no last chunk", Want: "200 10 bytes 22c6ab7e9610397493294b98daeb66c3ae3a048a1866c033e320b2fcbeb76703",
		Why: "fasthttp takes the end of the connection for that of the body, for handlers and limiters alike",
	})
	adaptertest.Attack(t, a, options("memory"), "F4")
}

// TestSettingsOpenNoDoor: whatever a router takes for one route, it is one budget.
func TestSettingsOpenNoDoor(t *testing.T) {
	for _, a := range settings {
		for _, id := range []string{"E1", "F1", "F2", "F3", "F6"} {
			t.Run(a.Name+" "+id, func(t *testing.T) { adaptertest.Attack(t, a, options("memory"), id) })
		}
	}
}
