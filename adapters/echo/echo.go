// Package echolimit limits the routes of Echo applications.
//
//	e.Use(echolimit.Limit("100/m; 2000/d"))                 // each client IP, all routes
//	e.POST("/login", login, echolimit.Limit("5/15m"))       // this route only, its own counter
//
// Everything else is core: make a core.Limiter and pass it to New.
package echolimit

import (
	"reflect"

	"github.com/labstack/echo/v4"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// New is the middleware that lets a request pass where l admits it, for an
// application, a group or a route. Where l is met twice in one request, it
// decides once. With Pre it runs before routing and knows no routes.
//
// Where a policy waits for the status of the response (CountIf, ResetIf), an error
// of the handler goes to Echo's error handler from here, as from Echo's own
// Logger, and no further.
func New(l *core.Limiter) echo.MiddlewareFunc {
	keep := l.KeepsDecision()
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			h := c.Response().Header() // its address is the request's: middleware may wrap c, not the map
			var v core.Visit
			defer v.Leave()
			n := natives.Get().(*native)
			n.c = c
			l.Enter(n, reflect.ValueOf(h).Pointer(), &v)
			n.c = nil
			natives.Put(n)
			if !v.Pass {
				return answer(c, &v)
			}
			v.Decision.WriteHeader(h)
			if keep && !v.Again {
				c.Set(decisionKey, v.Decision)
			}
			if v.Reservation != nil {
				c.Set(reservationKey, v.Reservation)
			}
			err := next(c)
			if v.Waits() {
				if err != nil { // only the error handler knows the status
					c.Error(err)
				}
				v.Finish(&native{c}, c.Response().Status)
				return nil
			}
			return err
		}
	}
}

// Limit is the short way: rate (see core.ParseRates) for each client, counted in
// memory by this middleware alone. A client is its IP address, or what the
// sources say together. It panics where rate or sources are wrong.
// See memory.Limiter.
func Limit(rate string, by ...core.KeySource) echo.MiddlewareFunc {
	return New(memory.Limiter(rate, by...))
}

// Decision is what the limiter closest to the handler decided, where its
// policies annotate or Config.KeepDecision is set.
func Decision(c echo.Context) (core.Decision, bool) {
	d, ok := c.Get(decisionKey).(core.Decision)
	return d, ok
}

const decisionKey = "github.com/stint-go/stint: decision"

// Reservation is what the limiter closest to the handler charged as an estimate,
// where its policies reserve. It is nil where nothing was charged, which its
// methods do not mind.
func Reservation(c echo.Context) *core.Reservation {
	r, _ := c.Get(reservationKey).(*core.Reservation)
	return r
}

const reservationKey = "github.com/stint-go/stint: reservation"

// Context is the way back for hooks: Echo's own context of the request, as the
// middleware got it. A hook that answers through it says so with
// Response.Written. It is nil for the request of another adapter.
func Context(r core.Request) echo.Context {
	c, _ := r.Unwrap().(echo.Context)
	return c
}

// Request is c as a Limiter takes it, for handlers that ask themselves
// (core.Limiter.PeekRequest and its kin).
func Request(c echo.Context) core.Native { return &native{c} }

// answer writes the response of a refused request, or returns the error that
// has Echo's error handler write one: an *echo.HTTPError, so that every error
// handler knows the status, with the *core.LimitedError inside.
func answer(c echo.Context, v *core.Visit) error {
	resp := &v.Response
	if resp.Written {
		return nil
	}
	if err := v.Err(); err != nil {
		return echo.NewHTTPError(resp.Status).SetInternal(err)
	}
	w := c.Response()
	resp.WriteHeader(w.Header())
	w.WriteHeader(resp.Status)
	w.Write(resp.Body)
	return nil
}
