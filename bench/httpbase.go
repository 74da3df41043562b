package bench

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v2"
	"github.com/labstack/echo/v4"
	"github.com/valyala/fasthttp"
)

// IPs is how many client addresses a Client can speak from.
const IPs = 1024

var (
	addrs    [IPs]string
	netAddrs [IPs]net.Addr
)

func init() {
	gin.SetMode(gin.ReleaseMode)
	for i := range addrs {
		ip := net.IPv4(203, 0, byte(113+i>>8), byte(i))
		addrs[i] = fmt.Sprintf("%s:41234", ip)
		netAddrs[i] = &net.TCPAddr{IP: ip, Port: 41234}
	}
}

// nopWriter is a ResponseWriter that keeps only its header map.
type nopWriter struct {
	h    http.Header
	code int
}

func (w *nopWriter) Header() http.Header { return w.h }
func (w *nopWriter) WriteHeader(c int)   { w.code = c }
func (w *nopWriter) Write(p []byte) (int, error) {
	if w.code == 0 {
		w.code = 200
	}
	return len(p), nil
}

func clientFor(h http.Handler) func() Client {
	return func() Client {
		w := &nopWriter{h: make(http.Header)}
		r := must(http.NewRequest("GET", "http://example.test/x", nil))
		return func(ip int) int {
			clear(w.h)
			w.code = 0
			r.RemoteAddr = addrs[ip]
			h.ServeHTTP(w, r)
			return w.code
		}
	}
}

// Each helper builds a one-route server with at most one middleware.

func netHTTP(mw func(http.Handler) http.Handler) func() Client {
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(200) })
	if mw != nil {
		h = mw(h)
	}
	return clientFor(h)
}

func ginHTTP(mw func() gin.HandlerFunc) func() Client {
	e := gin.New()
	must(0, e.SetTrustedProxies(nil))
	if mw != nil {
		e.Use(mw())
	}
	e.GET("/x", func(c *gin.Context) { c.Status(200) })
	return clientFor(e)
}

func echoHTTP(mw func() echo.MiddlewareFunc) func() Client {
	e := echo.New()
	e.IPExtractor = echo.ExtractIPDirect()
	if mw != nil {
		e.Use(mw())
	}
	e.GET("/x", func(c echo.Context) error { return c.NoContent(200) })
	return clientFor(e)
}

func fiberHTTP(mw func() fiber.Handler) func() Client {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	if mw != nil {
		app.Use(mw())
	}
	app.Get("/x", func(c *fiber.Ctx) error { return nil })
	h := app.Handler()
	return func() Client {
		c := new(fasthttp.RequestCtx)
		c.Request.SetRequestURI("/x")
		c.Request.Header.SetMethod("GET") // a server has read one; otherwise fasthttp makes it, each time
		return func(ip int) int {
			c.SetRemoteAddr(netAddrs[ip])
			h(c)
			code := c.Response.StatusCode()
			c.Response.Reset()
			return code
		}
	}
}

// The floor middlewares take the address as it stands, decide by floor-gcra
// and set the same three headers. The header strings share one allocation.

type floorLimiter struct {
	t         *table
	em, burst uint64
	limit     []string
}

func newFloor(q Quota) *floorLimiter {
	em, burst := q.gcra()
	return &floorLimiter{newTable(), em, burst, []string{strconv.Itoa(q.N)}}
}

func (f *floorLimiter) take(ip string) (ok bool, remaining, reset uint64) {
	ok, tat, now := gcra(f.t.find(ip), f.em, f.burst)
	used := tat - min(tat, now)
	return ok, (f.burst - min(used, f.burst)) / f.em, (used + 999_999_999) / 1e9
}

func (f *floorLimiter) serve(h http.Header, remote string) bool {
	ip := remote[:strings.LastIndexByte(remote, ':')]
	ok, rem, reset := f.take(ip)
	var buf [40]byte
	b := strconv.AppendUint(buf[:0], rem, 10)
	n := len(b)
	b = strconv.AppendUint(b, reset, 10)
	s := string(b)
	v := []string{s[:n], s[n:]}
	h["X-Ratelimit-Limit"] = f.limit
	h["X-Ratelimit-Remaining"] = v[0:1:1]
	h["X-Ratelimit-Reset"] = v[1:2:2]
	if !ok {
		h["Retry-After"] = v[1:2:2]
	}
	return ok
}

func init() {
	HTTPPeers = append(HTTPPeers,
		HTTPPeer{"nethttp", "none", func(Quota) func() Client { return netHTTP(nil) }},
		HTTPPeer{"gin", "none", func(Quota) func() Client { return ginHTTP(nil) }},
		HTTPPeer{"echo", "none", func(Quota) func() Client { return echoHTTP(nil) }},
		HTTPPeer{"fiber", "none", func(Quota) func() Client { return fiberHTTP(nil) }},
		HTTPPeer{"nethttp", "floor", func(q Quota) func() Client {
			f := newFloor(q)
			return netHTTP(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !f.serve(w.Header(), r.RemoteAddr) {
						w.WriteHeader(429)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
		}},
		HTTPPeer{"gin", "floor", func(q Quota) func() Client {
			f := newFloor(q)
			return ginHTTP(func() gin.HandlerFunc {
				return func(c *gin.Context) {
					if !f.serve(c.Writer.Header(), c.Request.RemoteAddr) {
						c.AbortWithStatus(429)
					}
				}
			})
		}},
		HTTPPeer{"echo", "floor", func(q Quota) func() Client {
			f := newFloor(q)
			return echoHTTP(func() echo.MiddlewareFunc {
				return func(next echo.HandlerFunc) echo.HandlerFunc {
					return func(c echo.Context) error {
						if !f.serve(c.Response().Header(), c.Request().RemoteAddr) {
							return c.NoContent(429)
						}
						return next(c)
					}
				}
			})
		}},
		HTTPPeer{"fiber", "floor", func(q Quota) func() Client {
			f := newFloor(q)
			return fiberHTTP(func() fiber.Handler {
				return func(c *fiber.Ctx) error {
					ip := c.Context().RemoteAddr().(*net.TCPAddr).IP.To4()
					ok, rem, reset := f.take(string(ip)) // 4 bytes, stays on the stack
					var buf [20]byte
					h := &c.Response().Header
					h.Set("X-Ratelimit-Limit", f.limit[0])
					h.SetBytesV("X-Ratelimit-Remaining", strconv.AppendUint(buf[:0], rem, 10))
					h.SetBytesV("X-Ratelimit-Reset", strconv.AppendUint(buf[:0], reset, 10))
					if !ok {
						h.SetBytesV("Retry-After", strconv.AppendUint(buf[:0], reset, 10))
						return c.SendStatus(429)
					}
					return c.Next()
				}
			})
		}},
	)
}
