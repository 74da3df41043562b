package ginlimit

import (
	"context"
	"net/netip"

	"github.com/gin-gonic/gin"

	"github.com/stint-go/stint/core"
)

// native answers core's questions about a request of Gin.
type native struct{ c *gin.Context }

var (
	_ core.Native         = native{}
	_ core.DecisionWriter = native{}
)

func (n native) Context() context.Context          { return n.c.Request.Context() }
func (n native) Method() string                    { return n.c.Request.Method }
func (n native) Path() string                      { return n.c.Request.URL.Path }
func (n native) Route() string                     { return n.c.FullPath() }
func (n native) Peer() netip.Addr                  { return core.ParsePeer(n.c.Request.RemoteAddr) }
func (n native) Header(name string) string         { return n.c.Request.Header.Get(name) }
func (n native) HeaderValues(name string) []string { return n.c.Request.Header.Values(name) }
func (n native) Query(name string) string          { return n.c.Query(name) }
func (n native) Unwrap() any                       { return n.c }
func (n native) WriteDecision(d core.Decision)     { d.WriteHeader(n.c.Writer.Header()) }

func (n native) Body(limit int) (body []byte, err error) {
	r := n.c.Request
	body, r.Body, err = core.PeekBody(r.Body, r.ContentLength, limit)
	return body, err
}
