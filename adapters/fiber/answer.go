package fiberlimit

import (
	"io"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/stint-go/stint/core"
)

// writeHeader writes the header fields of the decision, without allocating. The
// names are canonical, so that fasthttp need not make them so.
func writeHeader(c *fiber.Ctx, d *core.Decision) {
	h := &c.Response().Header
	var buf [128]byte
	var old []byte
	for i := range core.MaxFields {
		name := d.FieldName(i)
		if name == "" {
			continue
		}
		if i == 0 || old != nil { // there are either all fields of another limiter or none
			old = h.Peek(name)
		}
		h.SetCanonical([]byte(name), d.AppendField(buf[:0], i, old))
	}
}

// answer writes the response of a refused request, or returns the error that
// has Fiber's error handler write one.
func answer(c *fiber.Ctx, v *core.Visit) error {
	if body := c.Request().BodyStream(); body != nil {
		drain(c, body)
	}
	resp := &v.Response
	if resp.Written {
		return nil
	}
	if err := v.Err(); err != nil {
		return &refusal{err, fiber.NewError(resp.Status, http.StatusText(resp.Status))}
	}
	w := c.Response()
	for k, values := range resp.Header {
		w.Header.Del(k)
		for _, v := range values {
			w.Header.Add(k, oneLine.Replace(v)) // Add, unlike Set, would let line breaks through
		}
	}
	w.Header.SetNoDefaultContentType(true)
	w.Header.SetContentType(resp.ContentType)
	w.SetStatusCode(resp.Status)
	w.SetBody(resp.Body) // a copy: the response is sent later
	return nil
}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// drain reads what is left of a streamed body that nobody reads now: fasthttp
// would take it for the next request. Like net/http it has an end, and then the
// connection has one.
func drain(c *fiber.Ctx, body io.Reader) {
	if _, err := io.CopyN(io.Discard, body, 256<<10); err != io.EOF {
		c.Context().SetConnectionClose()
	}
}

// A refusal is a *core.LimitedError and a *fiber.Error in one, so that every
// error handler knows the status.
type refusal struct {
	limited *core.LimitedError
	status  *fiber.Error
}

func (e *refusal) Error() string   { return e.status.Message }
func (e *refusal) Unwrap() []error { return []error{e.limited, e.status} }
