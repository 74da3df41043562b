// Package adaptertest is what every adapter has to do, as a black-box suite over
// real TCP connections. An adapter describes itself by an Adapter and runs
//
//	func TestAdapter(t *testing.T) {
//		adaptertest.Run(t, adapter, adaptertest.Options{
//			Backend: func(testing.TB) core.Backend { return memory.New() },
//		})
//	}
//
// The suite describes applications in neutral terms (App), the adapter's tests
// build them with their framework, and the suite talks to them by bytes on
// sockets of its own. What the suite expects is the same for all frameworks;
// where a framework's own router answers otherwise, the adapter declares it as a
// Difference, and the suite insists that it is there.
package adaptertest

import (
	"iter"
	"net"
	"strings"
	"testing"

	"github.com/stint-go/stint/core"
)

// An Adapter is what the suite has to know of an adapter. Name, Serve and Native
// are required.
type Adapter struct {
	// Name is the framework's, such as "Gin".
	Name string
	// Serve builds the application and serves it on l. It returns when the
	// application accepts connections, or will; what it leaves running ends by
	// tb.Cleanup. Framework settings are the defaults, but for limits of size:
	// header fields of 64 KiB and bodies of 16 MiB come through.
	Serve func(tb testing.TB, l net.Listener, app App)
	// Template is a path as the framework writes it and as the adapter answers
	// it from core.Native.Route; nil leaves "/users/{id}" as it is.
	Template func(neutral string) string
	// Native answers the request that a hook has got, through the framework's
	// own context, as the adapter's Context(r) gives it. It reports false, and
	// does nothing, for requests of another adapter.
	Native func(r core.Request, status int, text string) bool
	// HTTP2: Serve's listener also speaks HTTP/2 without TLS, to clients that
	// begin with it, and lets 1000 streams of one connection run.
	HTTP2 bool
	// Differs are the rows in which the framework itself behaves otherwise.
	Differs []Difference
}

// A Difference is a row of the suite that comes out otherwise for reasons that
// are the framework's, not the adapter's. It must be so: a difference that does
// not exist fails the suite.
type Difference struct {
	Row  string // as the suite names it
	Want string // what happens here instead
	Why  string // for the reader
}

// An App is an application to build: Layers around all its routes, which are in
// Groups.
type App struct {
	Layers []Layer
	Groups []Group
	// Recover asks for the framework's own recovery around everything, so that
	// a panic of a handler does not end the process. Without it there must be
	// none: the suite proves that the adapter needs none.
	Recover bool
}

// A Group is a number of Routes with a common prefix and common Layers.
type Group struct {
	Prefix string // "" or such as "/api"
	Layers []Layer
	Routes []Route
}

// A Route is one Method, such as "GET", of one path within its group's prefix,
// with Layers of its own.
type Route struct {
	Method  string
	Path    string // such as "/users/{id}": see Adapter.Template
	Layers  []Layer
	Handler Handler
}

// A Layer is one middleware, of one of three kinds. The first of several layers
// is the outermost.
type Layer struct {
	// Limiter is mounted by the adapter's New.
	Limiter *core.Limiter
	// Rate, if not "", is mounted by the adapter's Limit, By the sources.
	Rate string
	By   []core.KeySource
	// Gate reports whether the request goes on. Otherwise it has answered, and
	// the chain ends in the way the framework knows.
	Gate func(Exchange) (pass bool)
}

// A Handler answers a request.
type Handler func(Exchange)

// An Exchange is a request and its response as a handler of the framework has
// them. It is valid until the handler returns, but for a Stream that is under
// way.
type Exchange interface {
	// Request is the adapter's Request: the way to ask a Limiter from inside.
	Request() core.Native
	// Decision is the adapter's Decision.
	Decision() (core.Decision, bool)
	// Reservation is the adapter's Reservation.
	Reservation() *core.Reservation
	// Body is the whole body, byte for byte as it came, read in the usual way
	// of the framework's handlers.
	Body() ([]byte, error)
	// Text answers with a text as "text/plain; charset=utf-8".
	Text(status int, text string)
	// Fail ends the request with a status by the framework's own way of failing:
	// an error that its error handler answers, or an aborted chain.
	Fail(status int)
	// Stream answers 200 with chunks of the same type; each is on its way to
	// the client before the next is asked for.
	Stream(chunks iter.Seq[string])
}

// ColonTemplate writes "/users/{id}" as "/users/:id", for Adapter.Template.
func ColonTemplate(neutral string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(neutral)
}

// Limited, for apps written out in tests, is the layer of a Limiter.
func Limited(l *core.Limiter) Layer { return Layer{Limiter: l} }
