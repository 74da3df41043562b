package httplimit

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/stint-go/stint/core"
)

// native answers core's questions about a request of net/http.
type native struct {
	w http.ResponseWriter
	r *http.Request
}

// natives spares each request an allocation: core keeps none past Enter.
var natives = sync.Pool{New: func() any { return new(native) }}

var (
	_ core.Native         = (*native)(nil)
	_ core.DecisionWriter = (*native)(nil)
)

func (n *native) Context() context.Context          { return n.r.Context() }
func (n *native) Method() string                    { return n.r.Method }
func (n *native) Path() string                      { return n.r.URL.Path }
func (n *native) Peer() netip.Addr                  { return core.ParsePeer(n.r.RemoteAddr) }
func (n *native) Header(name string) string         { return n.r.Header.Get(name) }
func (n *native) HeaderValues(name string) []string { return n.r.Header.Values(name) }
func (n *native) Query(name string) string          { return n.r.URL.Query().Get(name) }
func (n *native) Unwrap() any                       { return n }

// Route is the pattern that the mux matched, without its method: the method is
// a part of a key of its own.
func (n *native) Route() string {
	_, route, ok := strings.Cut(n.r.Pattern, " ")
	if !ok {
		return n.r.Pattern
	}
	return strings.TrimLeft(route, " \t")
}

func (n *native) WriteDecision(d core.Decision) {
	if n.w != nil { // not so for what Request makes
		d.WriteHeader(n.w.Header())
	}
}

func (n *native) Body(limit int) (body []byte, err error) {
	body, n.r.Body, err = core.PeekBody(n.r.Body, n.r.ContentLength, limit)
	return body, err
}
