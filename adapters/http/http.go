// Package httplimit limits net/http handlers, and so those of every router that
// speaks net/http: the standard mux, chi, gorilla. Policies that look at the
// route (core.ByRoute, Except) need a router that sets http.Request.Pattern, as
// the standard mux and chi do.
//
//	mux.Handle("/", httplimit.Limit("100/m; 2000/d")(page))
//
// Everything else is core: make a core.Limiter and pass it to New.
package httplimit

import (
	"context"
	"net/http"
	"reflect"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// New is the middleware that lets a request pass where l admits it. Mount it on
// routes rather than around the mux where policies look at the route: only there
// is it known. Where l is met twice in one request, it decides once; but what has
// header fields of its own, as http.TimeoutHandler has, makes it two requests.
func New(l *core.Limiter) func(http.Handler) http.Handler {
	keep := l.KeepsDecision()
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var v core.Visit
			defer v.Leave()
			n := natives.Get().(*native)
			n.w, n.r = w, r
			l.Enter(n, reflect.ValueOf(w.Header()).Pointer(), &v)
			n.w, n.r = nil, nil
			natives.Put(n)
			if !v.Pass {
				answer(w, &v.Response)
				return
			}
			v.Decision.WriteHeader(w.Header())
			if keep && !v.Again {
				r = r.WithContext(context.WithValue(r.Context(), decisionKey{}, v.Decision))
			}
			if v.Reservation != nil {
				r = r.WithContext(context.WithValue(r.Context(), reservationKey{}, v.Reservation))
			}
			if !v.Waits() {
				next.ServeHTTP(w, r)
				return
			}
			recorded := &recorder{ResponseWriter: w}
			next.ServeHTTP(recorded, r)
			v.Finish(&native{w, r}, recorded.sent())
		})
	}
}

// Limit is the short way: rate (see core.ParseRates) for each client, counted in
// memory by this middleware alone. A client is its IP address, or what the
// sources say together. It panics where rate or sources are wrong.
// See memory.Limiter.
func Limit(rate string, by ...core.KeySource) func(http.Handler) http.Handler {
	return New(memory.Limiter(rate, by...))
}

// Decision is what the limiter closest to the handler decided, where its
// policies annotate or Config.KeepDecision is set.
func Decision(r *http.Request) (core.Decision, bool) {
	d, ok := r.Context().Value(decisionKey{}).(core.Decision)
	return d, ok
}

type decisionKey struct{}

// Reservation is what the limiter closest to the handler charged as an estimate,
// where its policies reserve. It is nil where nothing was charged, which its
// methods do not mind.
func Reservation(r *http.Request) *core.Reservation {
	reservation, _ := r.Context().Value(reservationKey{}).(*core.Reservation)
	return reservation
}

type reservationKey struct{}

// Context is the way back for hooks: what net/http handed to the middleware. A
// hook that answers through w says so with Response.Written. Both are nil for
// the request of another adapter.
func Context(r core.Request) (w http.ResponseWriter, req *http.Request) {
	if n, ok := r.Unwrap().(*native); ok {
		return n.w, n.r
	}
	return nil, nil
}

// Request is r as a Limiter takes it, for handlers that ask themselves
// (core.Limiter.PeekRequest and its kin). Where a policy's key is in the body,
// r.Body is replaced by one that reads the same.
func Request(r *http.Request) core.Native { return &native{nil, r} }

// answer writes the response of a refused request.
func answer(w http.ResponseWriter, resp *core.Response) {
	if resp.Written {
		return
	}
	resp.WriteHeader(w.Header())
	w.WriteHeader(resp.Status)
	w.Write(resp.Body)
}
