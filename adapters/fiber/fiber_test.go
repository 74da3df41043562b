package fiberlimit_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	fiberlimit "github.com/stint-go/stint/adapters/fiber"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// limiter has one policy, and logs to nowhere.
func limiter(t testing.TB, p core.Policy, more ...func(*core.Config)) *core.Limiter {
	t.Helper()
	c := core.Config{Backend: memory.New(), Policies: []core.Policy{p}, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range more {
		f(&c)
	}
	l, err := core.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func newApp(config ...fiber.Config) *fiber.App {
	c := fiber.Config{}
	if len(config) > 0 {
		c = config[0]
	}
	c.DisableStartupMessage = true
	return fiber.New(c)
}

// serve answers the address of the application.
func serve(t *testing.T, app *fiber.App) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- app.Listener(ln) }()
	t.Cleanup(func() {
		ln.Close()
		<-done
	})
	return ln.Addr().String()
}

// A client keeps one connection.
type client struct {
	*testing.T
	conn net.Conn
	r    *bufio.Reader
}

func dial(t *testing.T, app *fiber.App) *client {
	t.Helper()
	conn, err := net.Dial("tcp", serve(t, app))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{t, conn, bufio.NewReader(conn)}
}

// send sends a request that is all there but for Host, and answers the
// response with its body read.
func (c *client) send(request string, body ...string) (*http.Response, string) {
	c.Helper()
	head, fields, _ := strings.Cut(request, "\r\n")
	if len(body) > 0 {
		fields += fmt.Sprintf("Content-Length: %d\r\n", len(body[0]))
	}
	if _, err := io.WriteString(c.conn, head+" HTTP/1.1\r\nHost: localhost\r\n"+fields+"\r\n"+strings.Join(body, "")); err != nil {
		c.Fatal(err)
	}
	method, _, _ := strings.Cut(head, " ")
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	return resp, string(text)
}

const urlencoded = "\r\nContent-Type: application/x-www-form-urlencoded\r\n"

func ok(c *fiber.Ctx) error { return c.SendString("fine") }

// hooks are core.Hooks by functions.
type hooks struct {
	core.Base
	should     func(core.Request) bool
	disallowed func(core.Request, core.Decision) core.Response
}

func (h hooks) ShouldLimit(r core.Request) bool {
	return h.should == nil || h.should(r)
}

func (h hooks) Disallowed(r core.Request, d core.Decision) core.Response {
	if h.disallowed == nil {
		return h.Base.Disallowed(r, d)
	}
	return h.disallowed(r, d)
}

func TestAnswers(t *testing.T) {
	scratch := []byte("no") // a hook may use its memory again
	plain := func(core.Request, core.Decision) core.Response {
		return core.Response{Header: map[string][]string{"X-Extra": {"1"}}, Body: scratch}
	}
	for _, tc := range []struct {
		name, method, body, media string
		length                    int64
		disallowed                func(core.Request, core.Decision) core.Response
	}{
		{"standard", "POST", "violated-policies", "application/problem+json", 190, nil},
		{"HEAD", "HEAD", "", "application/problem+json", 190, nil},
		{"no media type", "POST", "no", "", 2, plain},
		{"empty", "POST", "", "", 0, func(core.Request, core.Decision) core.Response { return core.Response{} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			app := newApp()
			app.Use(func(c *fiber.Ctx) error {
				err := c.Next()
				copy(scratch, "on")
				return err
			})
			defer copy(scratch, "no")
			app.All("/", fiberlimit.New(limiter(t, core.Policy{Name: "login", Rate: "1/d", Hooks: hooks{disallowed: tc.disallowed}})), ok)
			c := dial(t, app)
			if r, _ := c.send(tc.method + " /"); r.StatusCode != 200 || r.Header.Get("RateLimit-Policy") != `"login";q=1;w=86400` {
				t.Errorf("allowed: %s %v", r.Status, r.Header)
			}
			copy(scratch, "no")
			r, body := c.send(tc.method + " /")
			if r.StatusCode != 429 || r.Header.Get("Retry-After") == "" || len(r.Header.Values("RateLimit")) != 1 ||
				r.Header.Get("Content-Type") != tc.media || r.ContentLength != tc.length || !strings.Contains(body, tc.body) {
				t.Errorf("refused: %s %v %d %q", r.Status, r.Header, r.ContentLength, body)
			}
			if got := r.Header.Get("X-Extra"); (got == "1") != (tc.name == "no media type") {
				t.Errorf("X-Extra: %q", got)
			}
		})
	}
}

func TestRoute(t *testing.T) {
	var route string
	mw := fiberlimit.New(limiter(t, core.Policy{Name: "seen", Rate: "none", Hooks: hooks{should: func(r core.Request) bool {
		route = r.Route()
		return true
	}}}))
	mounted := newApp()
	mounted.Get("/deep/:x", mw, ok)
	app := newApp()
	app.Get("/Login/", mw, ok)
	app.Get("/users/:id/posts-:n?", mw, ok)
	app.Get("/files/*", mw, ok)
	app.All("/any", mw, ok)
	app.Use("/use", mw)
	app.Get("/use", ok)
	app.Group("/group", mw).Get("/", ok)
	same := []fiber.Handler{mw, ok} // one slice for middleware and a route of one path
	app.Group("/same", same...).Get("", same...)
	app.Mount("/MOUNT", mounted)
	app.Use(mw)
	c := dial(t, app)
	for _, tc := range []struct{ request, want string }{
		{"GET /Login/", "/Login/"},
		{"GET /login", "/Login/"},
		{"GET /LOGIN/?x=/users", "/Login/"},
		{"HEAD /login", "/Login/"},
		{"GET /users/7/posts-8", "/users/:id/posts-:n?"},
		{"GET /users/7/posts-", "/users/:id/posts-:n?"},
		{"GET /files/a/b", "/files/*"},
		{"PATCH /any", "/any"},
		{"GET /mount/deep/9", "/mount/deep/:x"},
		{"GET /Mount/Deep/9", "/mount/deep/:x"},
		{"GET /use", ""},
		{"GET /group", ""},
		{"GET /same", ""},
		{"GET /nowhere", ""},
		{"POST /login", ""},
	} {
		route = "not seen"
		if c.send(tc.request); route != tc.want {
			t.Errorf("%s: route %q, want %q", tc.request, route, tc.want)
		}
	}
}

// Where there is no route yet, Fiber's Route is made of what the client sent.
func TestNoRouteInTheErrorHandler(t *testing.T) {
	var routes []string
	app := newApp(fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error {
		routes = append(routes, fiberlimit.Request(c).Route())
		return c.SendStatus(404)
	}})
	c := dial(t, app)
	for range 2 {
		c.send("GET /what-the-client-sent")
	}
	if len(routes) != 2 || routes[0] != "" || routes[1] != "" {
		t.Errorf("routes %q", routes)
	}
}

func TestDecidesOnce(t *testing.T) {
	mw := fiberlimit.New(limiter(t, core.Policy{Name: "once", Rate: "4/d"}))
	app := newApp()
	app.Use(mw)
	app.Group("/g", mw).Get("/", mw, ok)
	c := dial(t, app)
	for i := range 5 {
		want := 200
		if i == 4 {
			want = 429
		}
		if r, _ := c.send("GET /g"); r.StatusCode != want || len(r.Header.Values("RateLimit")) != 1 {
			t.Errorf("request %d: %s %v, want %d", i, r.Status, r.Header, want)
		}
	}
}

func TestStackedLimitersShareTheFields(t *testing.T) {
	app := newApp()
	app.Use(fiberlimit.New(limiter(t, core.Policy{Name: "outer", Rate: "5/s", Strategy: core.MovingWindow{}})))
	app.Get("/", fiberlimit.New(limiter(t, core.Policy{Name: "inner", Rate: "3/s; 9/d", Strategy: core.MovingWindow{}})), ok)
	r, _ := dial(t, app).send("GET /")
	want := `"outer";q=5;w=1, "inner-1s";q=3;w=1, "inner-1d";q=9;w=86400`
	if got := r.Header.Values("RateLimit-Policy"); len(got) != 1 || got[0] != want {
		t.Errorf("RateLimit-Policy %q", got)
	}
	want = `"outer";r=4;t=1, "inner-1s";r=2;t=1, "inner-1d";r=8;t=86400`
	if got := r.Header.Values("RateLimit"); len(got) != 1 || got[0] != want {
		t.Errorf("RateLimit %q", got)
	}
}

func TestHooksAnswerThroughFiber(t *testing.T) {
	app := newApp()
	l := limiter(t, core.Policy{Name: "login", Rate: "0/s", Hooks: hooks{disallowed: func(r core.Request, d core.Decision) core.Response {
		fiberlimit.Context(r).Status(418).JSON(fiber.Map{"policy": d.Policy})
		return core.Response{Written: true}
	}}}, func(c *core.Config) { c.ReturnErrors = true })
	app.Get("/", fiberlimit.New(l), ok)
	r, body := dial(t, app).send("GET /")
	if r.StatusCode != 418 || body != `{"policy":"login"}` || r.Header.Get("RateLimit") == "" {
		t.Errorf("%s %v %q", r.Status, r.Header, body)
	}
}

func TestErrorHandlers(t *testing.T) {
	login := core.Policy{Name: "login", Rate: "0/s"}
	for _, tc := range []struct {
		name    string
		policy  core.Policy
		handler fiber.ErrorHandler
		status  int
		body    string
	}{
		{"Fiber's own", login, nil, 429, "Too Many Requests"},
		{"not decided", core.Policy{Name: "login", Rate: "0/s", Hooks: hooks{should: func(core.Request) bool { panic("hook") }}},
			nil, 500, "Internal Server Error"},
		{"the application's", login, func(c *fiber.Ctx, err error) error {
			limited, ok := errors.AsType[*core.LimitedError](err)
			if !ok {
				return err
			}
			return c.Status(limited.Response.Status).SendString(limited.Error())
		}, 429, "stint: request refused by policy login"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			app := newApp(fiber.Config{ErrorHandler: tc.handler})
			app.Get("/", fiberlimit.New(limiter(t, tc.policy, func(c *core.Config) { c.ReturnErrors = true })), ok)
			r, body := dial(t, app).send("GET /")
			if r.StatusCode != tc.status || body != tc.body || (r.Header.Get("RateLimit") == "") != (tc.status == 500) {
				t.Errorf("%s %v %q", r.Status, r.Header, body)
			}
		})
	}
}

// Where the status is waited for, an error ends as it does without a limiter, also
// where the application's handler fails itself; where none is, it is left alone.
func TestErrorsOfHandlers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy *core.Policy
		passed bool // the error reaches the middleware outside
	}{
		{"no limiter", nil, true},
		{"waiting", &core.Policy{Name: "login", Rate: "9/d", CountIf: core.OnStatus(401)}, false},
		{"reserving", &core.Policy{Name: "login", Rate: "9/d", Reserve: true}, true},
		{"in flight", &core.Policy{Name: "login", Rate: "9/d", Strategy: core.InFlight{}}, true},
		{"not concerned", &core.Policy{Name: "login", Rate: "9/d", CountIf: core.OnStatus(401), Methods: []string{"POST"}}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var seen error
			app := newApp(fiber.Config{ErrorHandler: func(*fiber.Ctx, error) error { return errors.New("again") }})
			app.Use(func(c *fiber.Ctx) error {
				seen = c.Next()
				return seen
			})
			handlers := []fiber.Handler{func(*fiber.Ctx) error { return errors.New("handler") }}
			if tc.policy != nil {
				handlers = append([]fiber.Handler{fiberlimit.New(limiter(t, *tc.policy))}, handlers...)
			}
			app.Get("/", handlers...)
			r, body := dial(t, app).send("GET /")
			if r.StatusCode != 500 || body != "Internal Server Error" || (seen != nil) != tc.passed {
				t.Errorf("%s %q, passed on: %v", r.Status, body, seen)
			}
		})
	}
}

// A panic that passes would end the process, and with it the tests.
func TestNoHookEndsTheProcess(t *testing.T) {
	boom := func() { panic("hook") }
	var who string
	p := core.Policy{Name: "p", By: "user", RateFunc: func(string, core.Request) (core.Rates, error) {
		if who == "rates" {
			boom()
		}
		return core.ParseRates("0/s")
	}, Hooks: hooks{
		should: func(core.Request) bool {
			switch who {
			case "should":
				boom()
			case "abort":
				panic(http.ErrAbortHandler)
			}
			return true
		},
		disallowed: func(core.Request, core.Decision) core.Response {
			if who == "disallowed" {
				boom()
			}
			return core.Response{}
		},
	}}
	app := newApp()
	app.Get("/", fiberlimit.New(limiter(t, p, func(c *core.Config) {
		c.Logger = slog.New(panicking{slog.DiscardHandler})
		c.ReturnErrors = true
		c.User = func(core.Request) string {
			if who == "user" {
				boom()
			}
			return "bob"
		}
	})), ok)
	c := dial(t, app)
	for _, who = range []string{"rates", "should", "abort", "disallowed", "user"} {
		if r, _ := c.send("GET /"); r.StatusCode != 500 {
			t.Errorf("%s: %s", who, r.Status)
		}
	}
	who = ""
	if r, _ := c.send("GET /"); r.StatusCode != 429 {
		t.Errorf("afterwards: %s", r.Status)
	}
}

type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool { panic("logger") }

func TestDecision(t *testing.T) {
	app := newApp()
	l := limiter(t, core.Policy{Name: "search", Rate: "1/d", Mode: core.Annotate})
	app.Get("/", fiberlimit.New(l), func(c *fiber.Ctx) error {
		d, found := fiberlimit.Decision(c)
		peeked, err := l.PeekRequest(fiberlimit.Request(c))
		return c.SendString(fmt.Sprintln(found, d.Limited, d.Policy, peeked.Limited, err))
	})
	c := dial(t, app)
	for _, want := range []string{"true false search true <nil>\n", "true true search true <nil>\n"} {
		if _, body := c.send("GET /"); body != want {
			t.Errorf("got %q, want %q", body, want)
		}
	}
}

// Whom a request is counted for does not depend on the request that its buffers
// are used for next.
func TestBuffersThatAreUsedAgain(t *testing.T) {
	for by, request := range map[string]func(who string) (string, []string){
		"header:X-Key":   func(who string) (string, []string) { return "POST /\r\nX-Key: " + who + "\r\n", nil },
		"get:q":          func(who string) (string, []string) { return "POST /?q=" + who, nil },
		"post:q":         func(who string) (string, []string) { return "POST /" + urlencoded, []string{"q=" + who} },
		"json:q":         func(who string) (string, []string) { return "POST /", []string{`{"q":"` + who + `"}`} },
		"get:q+get:q":    func(who string) (string, []string) { return "POST /?q=" + who, nil },
		"fold(get:q)+ip": func(who string) (string, []string) { return "POST /?q=" + who, nil },
	} {
		t.Run(by, func(t *testing.T) {
			app := newApp()
			l := limiter(t, core.Policy{Name: "p", By: by, Rate: "20/d"})
			app.Post("/", fiberlimit.New(l), ok)
			c := dial(t, app)
			for i := range 75 {
				head, body := request([]string{"alice", "bobby", "carol"}[i%3])
				want := 200
				if i >= 60 {
					want = 429
				}
				if r, _ := c.send(head, body...); r.StatusCode != want {
					t.Fatalf("request %d: %s, want %d", i, r.Status, want)
				}
			}
		})
	}
}

func TestPeer(t *testing.T) {
	for _, tc := range []struct {
		addr net.Addr
		want string
	}{
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}, "192.0.2.1"},
		{&net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 1}, "2001:db8::1"},
		{&net.UnixAddr{Name: "@", Net: "unix"}, "invalid IP"},
		{addr("192.0.2.2:99"), "192.0.2.2"},
	} {
		c := new(fasthttp.RequestCtx)
		c.SetRemoteAddr(tc.addr)
		app := newApp()
		ctx := app.AcquireCtx(c)
		if got := fiberlimit.Request(ctx).Peer().Unmap().String(); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.addr, got, tc.want)
		}
		app.ReleaseCtx(ctx)
	}
}

// addr is an address of some listener's own kind.
type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

func TestLimitPanicsAtStart(t *testing.T) {
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "stint: ") {
			t.Errorf("panic: %v", p)
		}
	}()
	fiberlimit.Limit("many")
}

func sum(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }
