package core

import (
	"context"
	"net/netip"
)

// Native is what an adapter answers about one request of its framework, asked
// lazily. It translates and knows nothing of limits. Strings may refer to the
// framework's memory: they are used within the request only.
type Native interface {
	Context() context.Context
	// Method is the method the router used, such as "GET".
	Method() string
	// Path is the path as the client spelled it. Never a key: use Route.
	Path() string
	// Route is the template of the matched route, such as "/users/:id", or ""
	// where none is known (not found, or middleware that runs before routing).
	Route() string
	// Peer is the address of the TCP peer, invalid where there is none (unix
	// socket). It may be v4-mapped or carry a zone.
	Peer() netip.Addr
	// Header is the first value of a header field, "" when there is none.
	Header(name string) string
	// HeaderValues are all its values in order, one per field line.
	HeaderValues(name string) []string
	// Query is the first value of a query parameter, "" when there is none.
	Query(name string) string
	// Body returns the body, if it has at most limit bytes, and leaves it to be
	// read again, byte-identical. A longer body is ErrBodyTooLarge; it too stays
	// readable in full.
	Body(limit int) ([]byte, error)
	// Unwrap is the adapter's own, for its Context function, which is the typed
	// way to what the framework hands out.
	Unwrap() any
}

// Request is a request as hooks, key sources and rate functions see it: the
// native one plus what core works out of it, once. It is valid until the hook or
// function that got it returns (what outlives that is the framework's own
// context), and not safe for concurrent use.
type Request interface {
	Native
	// IP is the client's address as Config.Proxies tells to find it, unmapped
	// and without zone; invalid when there is none.
	IP() netip.Addr
	// User is what Config.User answers, "" without it.
	User() string
	// Form is the first value of a field in the body of a POST, PUT or PATCH,
	// urlencoded or multipart (value parts only, never the query); "" when there
	// is none. A body that is too large, broken or encoded (gzip) refuses the
	// request with 413, 400 or 415.
	Form(name string) string
	// JSON is a top-level string, number or boolean of a body that is a JSON
	// object, as text, whatever its Content-Type claims; "" when there is none or
	// it is null. Bodies are refused as for Form, and so is an object in which
	// the name appears twice, upper and lower case alike.
	JSON(name string) string
}
