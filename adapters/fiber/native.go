package fiberlimit

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"reflect"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/stint-go/stint/core"
)

// native answers core's questions about a request of Fiber. Most of its strings
// are Fiber's own buffers, which the next request overwrites.
type native struct{ c *fiber.Ctx }

var (
	_ core.Native         = native{}
	_ core.DecisionWriter = native{}
)

// Context is never fasthttp's own, which is used again for other requests.
func (n native) Context() context.Context      { return n.c.UserContext() }
func (n native) Method() string                { return n.c.Method() }
func (n native) Path() string                  { return n.c.Path() }
func (n native) Query(name string) string      { return n.c.Query(name) }
func (n native) Unwrap() any                   { return n.c }
func (n native) WriteDecision(d core.Decision) { writeHeader(n.c, &d) }

// Header does not know Host, as elsewhere it is none of the header fields.
func (n native) Header(name string) string {
	if isHost(name) {
		return ""
	}
	return n.c.Get(name)
}

func isHost(name string) bool { return len(name) == 4 && strings.EqualFold(name, fiber.HeaderHost) }

func (n native) HeaderValues(name string) []string {
	if isHost(name) {
		return nil
	}
	var values []string
	for _, v := range n.c.Request().Header.PeekAll(name) {
		values = append(values, string(v)) // the list itself is overwritten by the next PeekAll
	}
	return values
}

func (n native) Peer() netip.Addr {
	addr := n.c.Context().RemoteAddr()
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr()
	}
	return core.ParsePeer(addr.String())
}

// Route is the template as the application wrote it, whatever spelling matched
// it. In Use and in groups Fiber's current route is the middleware itself, and
// outside of all routes it is the path the client sent: neither is a template.
func (n native) Route() string {
	r := n.c.Route()
	if len(r.Handlers) == 0 || !hasUse || reflect.ValueOf(r).Elem().FieldByIndex(use.Index).Bool() {
		return ""
	}
	return r.Path
}

// use is the field by which Fiber tells middleware from routes; it has no other
// public trace. Should it ever go, no route is known, and all share one cell.
var use, hasUse = reflect.TypeFor[fiber.Route]().FieldByName("use")

// Body is what came over the wire, where c.Body would decompress it. Multipart
// bodies that Fiber has parsed beforehand are written anew from the parts.
func (n native) Body(limit int) ([]byte, error) {
	req := n.c.Request()
	size := req.Header.ContentLength() // negative or 0 where it says nothing
	if size > limit {
		return nil, core.ErrBodyTooLarge
	}
	if req.IsBodyStream() {
		return n.peekStream(size, limit)
	}
	body := req.Body()
	if size <= 0 && len(body) > limit {
		return nil, core.ErrBodyTooLarge
	}
	return body, nil
}

// peekStream is Body where the application has requests streamed. The stream of
// fasthttp can't be put back once something was read from it, only replaced. So
// a chunked body of more than limit bytes is lost, and reading it fails.
func (n native) peekStream(size, limit int) ([]byte, error) {
	req := n.c.Request()
	stream := req.BodyStream()
	body, rest, err := core.PeekBody(io.NopCloser(stream), int64(size), limit)
	if errors.Is(err, core.ErrBodyTooLarge) {
		drain(n.c, stream)
		rest = io.NopCloser(lostBody{})
	}
	req.SetBodyStream(rest, size)
	return body, err
}

type lostBody struct{}

func (lostBody) Read([]byte) (int, error) { return 0, core.ErrBodyTooLarge }
