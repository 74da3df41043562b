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
}

func serveGin(tb testing.TB, l net.Listener, app adaptertest.App) {
	e := gin.New()
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
func (x ginExchange) Body() ([]byte, error)           { return x.c.GetRawData() }
func (x ginExchange) Text(status int, text string)    { x.c.String(status, "%s", text) }
func (x ginExchange) Stream(chunks iter.Seq[string])  { stream(x.c.Writer, chunks) }
