package matrix

import (
	"io"
	"iter"
	"net"
	"testing"

	"github.com/gin-gonic/gin"

	ginlimit "github.com/stint-go/stint/adapters/gin"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/core/adaptertest"
)

var ginAdapter = adaptertest.Adapter{
	Name:     "Gin",
	Serve:    serveGin,
	Template: adaptertest.ColonTemplate,
	Native: func(r core.Request, status int, text string) bool {
		c := ginlimit.Context(r)
		if c != nil {
			c.String(status, "%s", text)
		}
		return c != nil
	},
	HTTP2: true,
	Differs: []adaptertest.Difference{
		{Row: "routes known to an app-wide limiter", Want: "/a 3, /b 1, shared 2", Why: "Gin finds the route before it runs middleware"},
		{Row: "GET /login/", Want: "301 free", Why: ginRedirects},
		{Row: "GET /login%2F", Want: "301 free", Why: ginRedirects},
		{Row: "GET //login", Want: "404 free", Why: "Gin does not clean paths"},
		{Row: "GET /./login", Want: "404 free", Why: "Gin does not clean paths"},
		{Row: "GET /x/../login", Want: "404 free", Why: "Gin does not clean paths"},
		{Row: "GET /login/..", Want: "404 free", Why: "Gin does not clean paths"},
		{Row: "HEAD /login", Want: "404 free", Why: "Gin answers HEAD where a route for it is written"},
		{Row: "OPTIONS /login", Want: "404 free", Why: ginMethods},
		{Row: "PUT /login", Want: "404 free", Why: ginMethods},
		{Row: "get /login", Want: "404 free", Why: ginMethods},
		{Row: "FOO /login", Want: "404 free", Why: ginMethods},
		{Row: "PUT /login\nX-HTTP-Method-Override: POST", Want: "404 free", Why: ginMethods},
	},
}

const (
	ginRedirects = "Gin redirects to the path without the slash before it runs middleware"
	ginMethods   = "Gin answers 404 for other methods, unless HandleMethodNotAllowed is set"
)

func serveGin(tb testing.TB, l net.Listener, app adaptertest.App) {
	serveGinOn(gin.New(), tb, l, app)
}

func serveGinOn(e *gin.Engine, tb testing.TB, l net.Listener, app adaptertest.App) {
	if app.Recover {
		e.Use(gin.RecoveryWithWriter(io.Discard))
	}
	e.Use(ginLayers(app.Layers)...)
	for _, g := range app.Groups {
		group := e.Group(g.Prefix, ginLayers(g.Layers)...)
		for _, r := range g.Routes {
			h := func(c *gin.Context) { r.Handler(ginExchange{c}) }
			group.Handle(r.Method, adaptertest.ColonTemplate(r.Path), append(ginLayers(r.Layers), h)...)
		}
	}
	serveHTTP(tb, l, e)
}

func ginLayers(layers []adaptertest.Layer) (chain []gin.HandlerFunc) {
	for _, l := range layers {
		if l.Limiter != nil {
			chain = append(chain, ginlimit.New(l.Limiter))
			continue
		}
		if l.Rate != "" {
			chain = append(chain, ginlimit.Limit(l.Rate, l.By...))
			continue
		}
		chain = append(chain, func(c *gin.Context) {
			if !l.Gate(ginExchange{c}) {
				c.Abort()
			}
		})
	}
	return chain
}

type ginExchange struct{ c *gin.Context }

func (x ginExchange) Request() core.Native            { return ginlimit.Request(x.c) }
func (x ginExchange) Decision() (core.Decision, bool) { return ginlimit.Decision(x.c) }
func (x ginExchange) Reservation() *core.Reservation  { return ginlimit.Reservation(x.c) }
func (x ginExchange) Fail(status int)                 { x.c.AbortWithStatus(status) }
func (x ginExchange) Body() ([]byte, error)           { return x.c.GetRawData() }
func (x ginExchange) Text(status int, text string)    { x.c.String(status, "%s", text) }
func (x ginExchange) Stream(chunks iter.Seq[string])  { stream(x.c.Writer, chunks) }
