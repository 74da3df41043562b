package matrix

import (
	"io"
	"iter"
	"net"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	echolimit "github.com/stint-go/stint/adapters/echo"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/core/adaptertest"
)

var echoAdapter = adaptertest.Adapter{
	Name:     "Echo",
	Serve:    serveEcho,
	Template: adaptertest.ColonTemplate,
	Native: func(r core.Request, status int, text string) bool {
		c := echolimit.Context(r)
		if c != nil {
			echoExchange{c}.Text(status, text)
		}
		return c != nil
	},
	HTTP2: true,
	Differs: []adaptertest.Difference{
		{Row: "routes known to an app-wide limiter", Want: "/a 3, /b 1, shared 2", Why: "Echo finds the route before it runs middleware, that of Pre excepted"},
		{Row: "GET //login", Want: "404 free", Why: "Echo does not clean paths"},
		{Row: "GET /./login", Want: "404 free", Why: "Echo does not clean paths"},
		{Row: "GET /x/../login", Want: "404 free", Why: "Echo does not clean paths"},
		{Row: "GET /login/..", Want: "404 free", Why: "Echo does not clean paths"},
		{Row: "GET /%6Cogin", Want: "404 free", Why: "Echo matches the path as it was sent"},
		{Row: "HEAD /login", Want: "405 free", Why: "Echo answers HEAD where a route for it is written"},
		{Row: "OPTIONS /login", Want: "204 free", Why: "Echo answers OPTIONS by itself"},
	},
}

func serveEcho(tb testing.TB, l net.Listener, app adaptertest.App) {
	serveEchoOn(echo.New(), tb, l, app)
}

func serveEchoOn(e *echo.Echo, tb testing.TB, l net.Listener, app adaptertest.App) {
	e.Logger.SetOutput(io.Discard)
	if app.Recover {
		e.Use(middleware.Recover())
	}
	e.Use(echoLayers(app.Layers)...)
	for _, g := range app.Groups {
		group := e.Group(g.Prefix, echoLayers(g.Layers)...)
		for _, r := range g.Routes {
			h := func(c echo.Context) error {
				r.Handler(echoExchange{c})
				err, _ := c.Get(failure).(error)
				return err
			}
			group.Add(r.Method, adaptertest.ColonTemplate(r.Path), h, echoLayers(r.Layers)...)
		}
	}
	serveHTTP(tb, l, e)
}

func echoLayers(layers []adaptertest.Layer) (chain []echo.MiddlewareFunc) {
	for _, l := range layers {
		if l.Limiter != nil {
			chain = append(chain, echolimit.New(l.Limiter))
			continue
		}
		if l.Rate != "" {
			chain = append(chain, echolimit.Limit(l.Rate, l.By...))
			continue
		}
		chain = append(chain, func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(c echo.Context) error {
				if !l.Gate(echoExchange{c}) {
					return nil
				}
				return next(c)
			}
		})
	}
	return chain
}

// failure is where a handler leaves the error that it returns.
const failure = "failure"

type echoExchange struct{ c echo.Context }

func (x echoExchange) Request() core.Native            { return echolimit.Request(x.c) }
func (x echoExchange) Decision() (core.Decision, bool) { return echolimit.Decision(x.c) }
func (x echoExchange) Reservation() *core.Reservation  { return echolimit.Reservation(x.c) }
func (x echoExchange) Fail(status int)                 { x.c.Set(failure, echo.NewHTTPError(status)) }
func (x echoExchange) Body() ([]byte, error)           { return io.ReadAll(x.c.Request().Body) }
func (x echoExchange) Stream(chunks iter.Seq[string])  { stream(x.c.Response(), chunks) }

func (x echoExchange) Text(status int, text string) {
	x.c.Blob(status, "text/plain; charset=utf-8", []byte(text))
}
