// Package fiberlimit limits the routes of Fiber applications.
//
//	app.Use(fiberlimit.Limit("100/m; 2000/d"))                  // each client IP, all routes
//	app.Post("/login", fiberlimit.Limit("5/15m"), login)        // this route only, its own counter
//
// Everything else is core: make a core.Limiter and pass it to New.
package fiberlimit

import (
	"reflect"

	"github.com/gofiber/fiber/v2"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// New is the middleware that lets a request pass where l admits it, for an
// application, a group or a route. Mount it on routes where policies look at the
// route: Use and groups run before Fiber knows it. Where l is met twice in one
// request, it decides once.
//
// Where a policy waits for the status of the response (CountIf, ResetIf), an error
// of the handler goes to the application's error handler from here, as from
// Fiber's own logger, and no further. Fiber does not tell that a client has hung
// up, so such a request is settled like any other; and the body of a streamed
// response is written after that.
func New(l *core.Limiter) fiber.Handler {
	keep := l.KeepsDecision()
	return func(c *fiber.Ctx) error {
		var v core.Visit
		defer v.Leave()
		enter(l, c, &v)
		if !v.Pass {
			return answer(c, &v)
		}
		writeHeader(c, &v.Decision)
		if keep && !v.Again {
			c.Locals(decisionKey{}, v.Decision)
		}
		if v.Reservation != nil {
			c.Locals(reservationKey{}, v.Reservation)
		}
		err := c.Next() // so that Leave comes after the handler
		if v.Waits() {
			if err != nil && c.App().ErrorHandler(c, err) != nil { // only it knows the status
				_ = c.SendStatus(fiber.StatusInternalServerError) // as Fiber does
			}
			v.Finish(native{c}, c.Response().StatusCode())
			return nil
		}
		return err
	}
}

// enter is l.Enter where no panic may pass. Elsewhere the server catches the one
// that core passes on; in Fiber nobody does, and the process would die.
func enter(l *core.Limiter, c *fiber.Ctx, v *core.Visit) {
	entered := false
	defer func() {
		if !entered && recover() != nil {
			v.Pass, v.Decision, v.Response = false, core.Decision{}, core.Response{Status: fiber.StatusInternalServerError}
		}
	}()
	l.Enter(native{c}, reflect.ValueOf(c.Context()).Pointer(), v)
	entered = true
}

// Limit is the short way: rate (see core.ParseRates) for each client, counted in
// memory by this middleware alone. A client is its IP address, or what the
// sources say together. It panics where rate or sources are wrong.
// See memory.Limiter.
func Limit(rate string, by ...core.KeySource) fiber.Handler {
	return New(memory.Limiter(rate, by...))
}

// Decision is what the limiter closest to the handler decided, where its
// policies annotate or Config.KeepDecision is set.
func Decision(c *fiber.Ctx) (core.Decision, bool) {
	d, ok := c.Locals(decisionKey{}).(core.Decision)
	return d, ok
}

type decisionKey struct{}

// Reservation is what the limiter closest to the handler charged as an estimate,
// where its policies reserve. It is nil where nothing was charged, which its
// methods do not mind.
func Reservation(c *fiber.Ctx) *core.Reservation {
	r, _ := c.Locals(reservationKey{}).(*core.Reservation)
	return r
}

type reservationKey struct{}

// Context is the way back for hooks: Fiber's own context of the request. A hook
// that answers through it says so with Response.Written. It is nil for the
// request of another adapter.
func Context(r core.Request) *fiber.Ctx {
	c, _ := r.Unwrap().(*fiber.Ctx)
	return c
}

// Request is c as a Limiter takes it, for handlers that ask themselves
// (core.Limiter.PeekRequest and its kin).
func Request(c *fiber.Ctx) core.Native { return native{c} }
