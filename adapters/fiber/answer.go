package fiberlimit

import (
	"bytes"
	"io"
	"math/bits"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/stint-go/stint/core"
)

// names are those of the header fields, canonical, so that fasthttp need not
// make them so.
var names [core.MaxFields][]byte

func init() {
	for i := range names {
		names[i] = []byte(core.FieldName(i))
	}
}

// writeHeader writes the header fields of the decision, without allocating.
func writeHeader(c *fiber.Ctx, d *core.Decision) {
	h := &c.Response().Header
	var buf [128]byte
	if policy, limit, ok := d.CommonFields(buf[:0]); ok && !isStacked(h) {
		h.SetCanonical(names[0], policy)
		h.SetCanonical(names[1], limit)
		return
	}
	sent := d.Fields()
	stacked := sent&1 != 0 && isStacked(h)
	for ; sent != 0; sent &= sent - 1 {
		i := bits.TrailingZeros8(sent)
		var old []byte
		if stacked {
			old = h.PeekBytes(names[i])
		}
		h.SetCanonical(names[i], d.AppendField(buf[:0], i, old))
	}
}

// isStacked reports whether another limiter has left its fields: all of them or
// none, so one tells. Peek would first spell the name anew, letter by letter.
func isStacked(h *fasthttp.ResponseHeader) (found bool) {
	h.VisitAll(func(name, _ []byte) { found = found || bytes.Equal(name, names[0]) })
	return found
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
