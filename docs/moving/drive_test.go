package moving

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("hello")) })

// A client sends requests from one address, with forwarding fields that it made
// up where forged is set.
type client struct {
	from   string
	forged string
}

var (
	bob   = client{from: "192.0.2.1"}
	eve   = client{from: "192.0.2.2"}
	local = client{from: "10.0.0.1"} // the reverse proxy
)

func (c client) forging(addr string) client { return client{c.from, addr} }

func (c client) get(h http.Handler, target string) *http.Response {
	r := httptest.NewRequest("GET", target, nil)
	r.RemoteAddr = net.JoinHostPort(c.from, "1234")
	if c.forged != "" {
		r.Header.Set("X-Forwarded-For", c.forged)
		r.Header.Set("X-Real-Ip", c.forged)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// passes sends n requests and reports how many were answered with 200.
func (c client) passes(t *testing.T, h http.Handler, n int) int {
	t.Helper()
	passed := 0
	for range n {
		switch r := c.get(h, "/"); r.StatusCode {
		case 200:
			passed++
		case 429:
		default:
			t.Fatalf("status %d", r.StatusCode)
		}
	}
	return passed
}

// want fails unless n requests of c to h have that many passed.
func (c client) want(t *testing.T, h http.Handler, n, passed int) {
	t.Helper()
	if got := c.passes(t, h, n); got != passed {
		t.Errorf("%d of %d requests of %s passed, want %d", got, n, c.from, passed)
	}
}

// spoofs sends n requests, each claiming to come from somewhere else, and reports
// how many passed.
func spoofs(t *testing.T, h http.Handler, n int) int {
	t.Helper()
	passed := 0
	for i := range n {
		passed += eve.forging(net.IPv4(203, 0, 113, byte(i)).String()).passes(t, h, 1)
	}
	return passed
}

// has fails unless the response has the fields, and none of the others.
func has(t *testing.T, r *http.Response, fields, none []string) {
	t.Helper()
	for _, f := range fields {
		if r.Header.Get(f) == "" {
			t.Errorf("no %s in %v", f, r.Header)
		}
	}
	for _, f := range none {
		if v := r.Header.Get(f); v != "" {
			t.Errorf("%s: %s", f, v)
		}
	}
}

// fiberHandler serves a Fiber application as net/http would be, so that one driver
// serves all.
func fiberHandler(app *fiber.App) http.Handler {
	h := app.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req fasthttp.Request
		req.Header.SetMethod(r.Method)
		req.SetRequestURI(r.RequestURI)
		for name := range r.Header {
			req.Header.Set(name, r.Header.Get(name))
		}
		var c fasthttp.RequestCtx
		c.Init(&req, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(r.RemoteAddr)), nil)
		h(&c)
		c.Response.Header.VisitAll(func(k, v []byte) { w.Header().Add(string(k), string(v)) })
		w.WriteHeader(c.Response.StatusCode())
		w.Write(c.Response.Body())
	})
}
