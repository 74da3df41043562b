package matrix

import (
	"bufio"
	"iter"
	"net"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/recover"

	fiberlimit "github.com/stint-go/stint/adapters/fiber"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/core/adaptertest"
)

var fiberAdapter = adaptertest.Adapter{
	Name:     "Fiber",
	Serve:    serveFiber,
	Template: adaptertest.ColonTemplate,
	Native: func(r core.Request, status int, text string) bool {
		c := fiberlimit.Context(r)
		if c != nil {
			fiberExchange{c}.Text(status, text)
		}
		return c != nil
	},
	Differs: []adaptertest.Difference{
		{Row: "routes known to a group's limiter", Want: "/users 0, /b 0, shared 3", Why: "Fiber runs the middleware of groups before it looks for the route"},
		{Row: "GET /login#top", Want: "200 charged", Why: "fasthttp cuts off a fragment"},
		{Row: "GET /login/", Want: "200 charged", Why: "Fiber's paths end with a slash or not, unless StrictRouting is set"},
		{Row: "GET /LOGIN", Want: "200 charged", Why: "Fiber's paths are the same in capitals, unless CaseSensitive is set"},
		{Row: "GET /LoGiN/", Want: "200 charged", Why: "both of the above"},
		{Row: "GET //login", Want: "404 free", Why: "Fiber does not clean paths"},
		{Row: "GET /./login", Want: "404 free", Why: "Fiber does not clean paths"},
		{Row: "GET /x/../login", Want: "404 free", Why: "Fiber does not clean paths"},
		{Row: "GET /login/..", Want: "404 free", Why: "Fiber does not clean paths"},
		{Row: "GET /%6Cogin", Want: "404 free", Why: "Fiber matches the path as it was sent, unless UnescapePath is set"},
		{Row: "get /login", Want: "400 free", Why: "Fiber refuses methods it does not know"},
		{Row: "FOO /login", Want: "400 free", Why: "Fiber refuses methods it does not know"},
		{Row: "a multipart body is handed on", Want: "written anew", Why: "fasthttp parses multipart bodies as it reads them, unless DisablePreParseMultipartForm is set"},
		{Row: "another boundary", Want: "400 without a word", Why: parsedBefore},
		{Row: "no last boundary", Want: "400 without a word", Why: parsedBefore},
		{Row: "two Content-Types", Want: "200 6 bytes 985a4e7ef3b1fdd36d8877947f6c721494dfeed5719a8b8de7299fad7ded2d59", Why: "fasthttp keeps the last one, for handlers and limiters alike"},
		{Row: "Content-Length above the body", Want: "400 without a word", Why: readBefore},
		{Row: "chunk size that is no number", Want: "400 without a word", Why: readBefore},
		{Row: "chunk longer than it says", Want: "400 without a word", Why: readBefore},
		{Row: "no last chunk", Want: "closed", Why: readBefore},
		{Row: "two Content-Lengths", Want: "200 10 bytes 22c6ab7e9610397493294b98daeb66c3ae3a048a1866c033e320b2fcbeb76703", Why: "fasthttp believes the last one"},
		{Row: "chunked twice", Want: "200 10 bytes 22c6ab7e9610397493294b98daeb66c3ae3a048a1866c033e320b2fcbeb76703", Why: "fasthttp reads chunks once"},
		{Row: "a hook that aborts as net/http handlers do", Want: "500", Why: "there is no net/http to take that panic: it is one as any other"},
	},
}

const (
	parsedBefore = "fasthttp parses multipart bodies before it calls a handler"
	readBefore   = "fasthttp reads bodies before it calls a handler"
)

func serveFiber(tb testing.TB, l net.Listener, app adaptertest.App) {
	serveFiberWith(fiber.Config{}, tb, l, app)
}

func serveFiberWith(c fiber.Config, tb testing.TB, l net.Listener, app adaptertest.App) {
	c.DisableStartupMessage, c.ReadBufferSize, c.BodyLimit = true, 64<<10, 16<<20
	f := fiber.New(c)
	if app.Recover {
		f.Use(recover.New())
	}
	for _, h := range fiberLayers(app.Layers) {
		f.Use(h)
	}
	for _, g := range app.Groups {
		group := f.Group(g.Prefix, fiberLayers(g.Layers)...)
		for _, r := range g.Routes {
			h := func(c *fiber.Ctx) error {
				r.Handler(fiberExchange{c})
				err, _ := c.Locals(failure).(error)
				return err
			}
			chain := append(fiberLayers(r.Layers), h)
			if path := adaptertest.ColonTemplate(r.Path); r.Method == fiber.MethodGet {
				group.Get(path, chain...) // as applications write it: answers HEAD as well
			} else {
				group.Add(r.Method, path, chain...)
			}
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Listener(l)
	}()
	tb.Cleanup(func() {
		l.Close()
		<-done
		f.Shutdown()
	})
}

func fiberLayers(layers []adaptertest.Layer) (chain []fiber.Handler) {
	for _, l := range layers {
		if l.Limiter != nil {
			chain = append(chain, fiberlimit.New(l.Limiter))
			continue
		}
		if l.Rate != "" {
			chain = append(chain, fiberlimit.Limit(l.Rate, l.By...))
			continue
		}
		chain = append(chain, func(c *fiber.Ctx) error {
			if !l.Gate(fiberExchange{c}) {
				return nil
			}
			return c.Next()
		})
	}
	return chain
}

type fiberExchange struct{ c *fiber.Ctx }

func (x fiberExchange) Request() core.Native            { return fiberlimit.Request(x.c) }
func (x fiberExchange) Decision() (core.Decision, bool) { return fiberlimit.Decision(x.c) }
func (x fiberExchange) Reservation() *core.Reservation  { return fiberlimit.Reservation(x.c) }
func (x fiberExchange) Fail(status int)                 { x.c.Locals(failure, fiber.NewError(status)) }
func (x fiberExchange) Body() ([]byte, error)           { return x.c.Request().Body(), nil } // c.Body would decompress it

func (x fiberExchange) Text(status int, text string) {
	x.c.Set("Content-Type", "text/plain; charset=utf-8")
	x.c.Status(status).SendString(text)
}

func (x fiberExchange) Stream(chunks iter.Seq[string]) {
	x.c.Set("Content-Type", "text/plain; charset=utf-8")
	x.c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		for c := range chunks {
			w.WriteString(c)
			w.Flush()
		}
	})
}
