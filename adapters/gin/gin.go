// Package ginlimit limits the routes of Gin applications.
//
//	r.Use(ginlimit.Limit("100/m; 2000/d"))                 // each client IP, all routes
//	r.POST("/login", ginlimit.Limit("5/15m"), login)       // this route only, its own counter
//
// Everything else is core: make a core.Limiter and pass it to New.
package ginlimit

import (
	"reflect"

	"github.com/gin-gonic/gin"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// New is the middleware that lets a request pass where l admits it, for an
// engine, a group or a route. Where l is met twice in one request, it decides once.
//
// Where a policy waits for the status of the response (CountIf, ResetIf), middleware
// that makes responses of c.Errors belongs inside of this one, or their status comes
// too late.
func New(l *core.Limiter) gin.HandlerFunc {
	keep := l.KeepsDecision()
	return func(c *gin.Context) {
		var v core.Visit
		defer v.Leave()
		l.Enter(native{c}, reflect.ValueOf(c).Pointer(), &v)
		if !v.Pass {
			answer(c, &v.Response)
			return
		}
		v.Decision.WriteHeader(c.Writer.Header())
		if keep && !v.Again {
			c.Set(decisionKey{}, v.Decision)
		}
		if v.Reservation != nil {
			c.Set(reservationKey{}, v.Reservation)
		}
		c.Next() // so that Leave comes after the handler
		if v.Waits() {
			v.Finish(native{c}, c.Writer.Status())
		}
	}
}

// Limit is the short way: rate (see core.ParseRates) for each client, counted in
// memory by this middleware alone. A client is its IP address, or what the
// sources say together. It panics where rate or sources are wrong.
// See memory.Limiter.
func Limit(rate string, by ...core.KeySource) gin.HandlerFunc {
	return New(memory.Limiter(rate, by...))
}

// Decision is what the limiter closest to the handler decided, where its
// policies annotate or Config.KeepDecision is set.
func Decision(c *gin.Context) (core.Decision, bool) {
	v, _ := c.Get(decisionKey{})
	d, ok := v.(core.Decision)
	return d, ok
}

type decisionKey struct{}

// Reservation is what the limiter closest to the handler charged as an estimate,
// where its policies reserve. It is nil where nothing was charged, which its
// methods do not mind.
func Reservation(c *gin.Context) *core.Reservation {
	v, _ := c.Get(reservationKey{})
	r, _ := v.(*core.Reservation)
	return r
}

type reservationKey struct{}

// Context is the way back for hooks: Gin's own context of the request. A hook
// that answers through it says so with Response.Written. It is nil for the
// request of another adapter.
func Context(r core.Request) *gin.Context {
	c, _ := r.Unwrap().(*gin.Context)
	return c
}

// Request is c as a Limiter takes it, for handlers that ask themselves
// (core.Limiter.PeekRequest and its kin).
func Request(c *gin.Context) core.Native { return native{c} }

// answer writes the response of a refused request and ends the chain.
func answer(c *gin.Context, resp *core.Response) {
	c.Abort()
	if resp.Written {
		return
	}
	resp.WriteHeader(c.Writer.Header())
	c.Writer.WriteHeader(resp.Status)
	c.Writer.Write(resp.Body)
}
