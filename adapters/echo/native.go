package echolimit

import (
	"context"
	"net/netip"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/stint-go/stint/core"
)

// native answers core's questions about a request of Echo.
type native struct{ c echo.Context }

// natives spares each request an allocation: core keeps none past Enter.
var natives = sync.Pool{New: func() any { return new(native) }}

var (
	_ core.Native         = (*native)(nil)
	_ core.DecisionWriter = (*native)(nil)
)

func (n *native) Context() context.Context          { return n.c.Request().Context() }
func (n *native) Method() string                    { return n.c.Request().Method }
func (n *native) Path() string                      { return n.c.Request().URL.Path }
func (n *native) Peer() netip.Addr                  { return core.ParsePeer(n.c.Request().RemoteAddr) }
func (n *native) Header(name string) string         { return n.c.Request().Header.Get(name) }
func (n *native) HeaderValues(name string) []string { return n.c.Request().Header.Values(name) }
func (n *native) Query(name string) string          { return n.c.QueryParam(name) }
func (n *native) Unwrap() any                       { return n.c }
func (n *native) WriteDecision(d core.Decision)     { d.WriteHeader(n.c.Response().Header()) }

// Route is the template of the route that will answer. Where a path exists but
// not for the method, Echo answers by itself, as if there were no route. Routes
// for what is not found, such as the one that Group.Use adds, are routes to Echo.
func (n *native) Route() string {
	if n.c.Get(echo.ContextKeyHeaderAllow) != nil {
		return ""
	}
	return n.c.Path()
}

func (n *native) Body(limit int) (body []byte, err error) {
	r := n.c.Request()
	body, r.Body, err = core.PeekBody(r.Body, r.ContentLength, limit)
	return body, err
}
