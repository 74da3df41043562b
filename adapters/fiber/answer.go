package fiberlimit

import (
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/stint-go/stint/core"
)

// writeHeader writes the header fields of the decision, without allocating.
func writeHeader(c *fiber.Ctx, d *core.Decision) {
	h := &c.Response().Header
	var buf [128]byte
	for i := range core.MaxFields {
		if name := d.FieldName(i); name != "" {
			h.SetBytesV(name, d.AppendField(buf[:0], i, h.Peek(name)))
		}
	}
}

// answer writes the response of a refused request, or returns the error that
// has Fiber's error handler write one.
func answer(c *fiber.Ctx, v *core.Visit) error {
	if c.Request().IsBodyStream() {
		// Nobody reads the body now, and fasthttp would take what is left of it
		// for the next request.
		c.Context().SetConnectionClose()
	}
	resp := &v.Response
	if resp.Written {
		return nil
	}
	if err := v.Err(); err != nil {
		return &refusal{err, fiber.NewError(resp.Status, http.StatusText(resp.Status))}
	}
	w := c.Response()
	for k, v := range resp.Header {
		w.Header.Set(k, v)
	}
	w.Header.SetNoDefaultContentType(true)
	w.Header.SetContentType(resp.ContentType)
	w.SetStatusCode(resp.Status)
	w.SetBody(resp.Body) // a copy: the response is sent later
	return nil
}

// A refusal is a *core.LimitedError and a *fiber.Error in one, so that every
// error handler knows the status.
type refusal struct {
	limited *core.LimitedError
	status  *fiber.Error
}

func (e *refusal) Error() string   { return e.status.Message }
func (e *refusal) Unwrap() []error { return []error{e.limited, e.status} }
