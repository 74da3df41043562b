package echolimit_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	echolimit "github.com/stint-go/stint/adapters/echo"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// limiter has one policy, and logs to nowhere.
func limiter(t *testing.T, p core.Policy, more ...func(*core.Config)) *core.Limiter {
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

func serve(t *testing.T, e *echo.Echo) *httptest.Server {
	t.Helper()
	e.Logger.SetOutput(io.Discard)
	s := httptest.NewUnstartedServer(e)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// send answers the response with its body read.
func send(t *testing.T, method, url string, body ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(strings.Join(body, "")))
	if err != nil {
		t.Fatal(err)
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

func ok(c echo.Context) error { return c.String(http.StatusOK, "fine") }

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
	plain := func(core.Request, core.Decision) core.Response {
		return core.Response{Header: http.Header{"X-Extra": {"1"}}, Body: []byte("no")}
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
			e := echo.New()
			l := limiter(t, core.Policy{Name: "login", Rate: "1/d", Hooks: hooks{disallowed: tc.disallowed}})
			e.Match([]string{"POST", "HEAD"}, "/", ok, echolimit.New(l))
			s := serve(t, e)
			if r, _ := send(t, tc.method, s.URL); r.StatusCode != 200 || r.Header.Get("RateLimit-Policy") != `"login";q=1;w=86400` {
				t.Errorf("allowed: %s %v", r.Status, r.Header)
			}
			r, body := send(t, tc.method, s.URL)
			if r.StatusCode != 429 || r.Header.Get("Retry-After") == "" || r.Header.Get("RateLimit") == "" ||
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
	l := limiter(t, core.Policy{Name: "seen", Rate: "none", Hooks: hooks{should: func(r core.Request) bool {
		route = r.Route()
		return true
	}}})
	e, pre := echo.New(), echo.New()
	pre.Pre(echolimit.New(l))
	pre.GET("/users/:id", ok)
	e.Use(echolimit.New(l))
	e.GET("/users/:id", ok)
	e.POST("/login", ok)
	g := e.Group("/api")
	g.Use(echolimit.New(l))
	g.GET("/things", ok)
	app, early := serve(t, e), serve(t, pre)
	for _, tc := range []struct{ method, url, want string }{
		{"GET", app.URL + "/users/7", "/users/:id"},
		{"GET", app.URL + "/users/8?id=9", "/users/:id"},
		{"POST", app.URL + "/login", "/login"},
		{"POST", app.URL + "/%6Cogin", ""}, // to Echo another path, and unknown
		{"GET", app.URL + "/api/things", "/api/things"},
		{"GET", app.URL + "/api/nothing", "/api/*"}, // the route that Group.Use adds
		{"GET", app.URL + "/nowhere", ""},
		{"GET", app.URL + "/login", ""},
		{"OPTIONS", app.URL + "/login", ""},
		{"GET", early.URL + "/users/7", ""},
	} {
		route = "not seen"
		if send(t, tc.method, tc.url); route != tc.want {
			t.Errorf("%s %s: route %q, want %q", tc.method, tc.url, route, tc.want)
		}
	}
}

// wrap is a context as applications make their own.
type wrapped struct{ echo.Context }

type writer struct{ http.ResponseWriter }

func TestDecidesOnce(t *testing.T) {
	l := limiter(t, core.Policy{Name: "once", Rate: "4/d"})
	wrap := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Response().Writer = writer{c.Response().Writer}
			c.SetRequest(c.Request().WithContext(c.Request().Context()))
			return next(wrapped{c})
		}
	}
	e := echo.New()
	e.Use(echolimit.New(l), wrap)
	e.Group("/g", echolimit.New(l), wrap).GET("", ok, echolimit.New(l))
	s := serve(t, e)
	for i := range 5 {
		want := 200
		if i == 4 {
			want = 429
		}
		if r, _ := send(t, "GET", s.URL+"/g"); r.StatusCode != want || len(r.Header.Values("RateLimit")) != 1 {
			t.Errorf("request %d: %s %v, want %d", i, r.Status, r.Header, want)
		}
	}
}

func TestHooksAnswerThroughEcho(t *testing.T) {
	e := echo.New()
	l := limiter(t, core.Policy{Name: "login", Rate: "0/s", Hooks: hooks{disallowed: func(r core.Request, d core.Decision) core.Response {
		echolimit.Context(r).JSON(http.StatusTeapot, echo.Map{"policy": d.Policy})
		return core.Response{Written: true}
	}}}, func(c *core.Config) { c.ReturnErrors = true })
	e.GET("/", ok, echolimit.New(l))
	r, body := send(t, "GET", serve(t, e).URL)
	if r.StatusCode != 418 || strings.TrimSpace(body) != `{"policy":"login"}` || r.Header.Get("RateLimit") == "" {
		t.Errorf("%s %v %q", r.Status, r.Header, body)
	}
}

func TestErrorHandlers(t *testing.T) {
	errs := func(c *core.Config) { c.ReturnErrors = true }
	for _, tc := range []struct {
		name    string
		policy  core.Policy
		handler echo.HTTPErrorHandler
		status  int
		body    string
	}{
		{"Echo's own", core.Policy{Name: "login", Rate: "0/s"}, nil, 429, `{"message":"Too Many Requests"}`},
		{"not decided", core.Policy{Name: "login", Rate: "0/s", Hooks: hooks{should: func(core.Request) bool { panic("hook") }}},
			nil, 500, `{"message":"Internal Server Error"}`},
		{"the application's", core.Policy{Name: "login", Rate: "0/s"}, func(err error, c echo.Context) {
			limited, ok := errors.AsType[*core.LimitedError](err)
			if !ok {
				limited = new(core.LimitedError)
			}
			c.String(limited.Response.Status, limited.Decision.Policy+" "+err.(*echo.HTTPError).Internal.Error())
		}, 429, "login stint: request refused by policy login"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := echo.New()
			if tc.handler != nil {
				e.HTTPErrorHandler = tc.handler
			}
			e.GET("/", ok, echolimit.New(limiter(t, tc.policy, errs)))
			r, body := send(t, "GET", serve(t, e).URL)
			if r.StatusCode != tc.status || strings.TrimSpace(body) != tc.body {
				t.Errorf("%s %q", r.Status, body)
			}
		})
	}
}

// Errors go on to the middleware outside but where the status is waited for; in
// either case the error handler sees them once.
func TestErrorsOfHandlers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy core.Policy
		passed bool // the error reaches the middleware outside
	}{
		{"waiting", core.Policy{Name: "login", Rate: "9/d", CountIf: core.OnStatus(401)}, false},
		{"reserving", core.Policy{Name: "login", Rate: "9/d", Reserve: true}, true},
		{"in flight", core.Policy{Name: "login", Rate: "9/d", Strategy: core.InFlight{}}, true},
		{"not concerned", core.Policy{Name: "login", Rate: "9/d", CountIf: core.OnStatus(401), Methods: []string{"POST"}}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var seen error
			handled := 0
			e := echo.New()
			e.HTTPErrorHandler = func(err error, c echo.Context) {
				handled++
				e.DefaultHTTPErrorHandler(err, c)
			}
			e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c echo.Context) error {
					seen = next(c)
					return seen
				}
			})
			l := limiter(t, tc.policy)
			e.Group("", echolimit.New(l)).GET("/", func(echo.Context) error { return echo.NewHTTPError(418) }, echolimit.New(l))
			r, _ := send(t, "GET", serve(t, e).URL)
			if r.StatusCode != 418 || handled != 1 || (seen != nil) != tc.passed {
				t.Errorf("%s, handled %d times, passed on: %v", r.Status, handled, seen)
			}
		})
	}
}

// response is a response whose header map is given.
type response struct {
	header http.Header
	status int
}

func (w *response) Header() http.Header         { return w.header }
func (w *response) WriteHeader(status int)      { w.status = status }
func (w *response) Write(p []byte) (int, error) { return len(p), nil }

// A hook that aborts the connection, as net/http knows it, leaves no trace: the
// next request is counted.
func TestAbortingHook(t *testing.T) {
	abort := true
	l := limiter(t, core.Policy{Name: "abort", Rate: "1/d", Hooks: hooks{should: func(core.Request) bool {
		if abort {
			panic(http.ErrAbortHandler)
		}
		return true
	}}})
	e := echo.New()
	e.GET("/", ok, echolimit.New(l))
	h := http.Header{} // the same map, as if its memory had been used again
	request := func() (status int) {
		defer func() {
			if recover() != nil {
				status = 0
			}
		}()
		w := &response{header: h}
		e.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		return w.status
	}
	got := []int{request()}
	abort = false
	got = append(got, request(), request())
	if want := []int{0, 200, 429}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("answers %v, want %v", got, want)
	}
}

func TestDecision(t *testing.T) {
	e := echo.New()
	l := limiter(t, core.Policy{Name: "search", Rate: "1/d", Mode: core.Annotate})
	e.GET("/", func(c echo.Context) error {
		d, found := echolimit.Decision(c)
		peeked, err := l.PeekRequest(echolimit.Request(c))
		return c.String(200, fmt.Sprintln(found, d.Limited, d.Policy, peeked.Limited, err))
	}, echolimit.New(l))
	s := serve(t, e)
	for _, want := range []string{"true false search true <nil>\n", "true true search true <nil>\n"} {
		if _, body := send(t, "GET", s.URL); body != want {
			t.Errorf("got %q, want %q", body, want)
		}
	}
}

func TestBodyStays(t *testing.T) {
	e := echo.New()
	l := limiter(t, core.Policy{Name: "login", Rate: "1/d", Key: core.ByForm("user")})
	e.POST("/", func(c echo.Context) error {
		body, err := io.ReadAll(c.Request().Body)
		return c.String(200, fmt.Sprintf("%x %v", sha256.Sum256(body), err))
	}, echolimit.New(l))
	s := serve(t, e)
	for i, user := range []string{"alice", "bobby", "alice"} {
		form := "user=" + user + "&pad=" + strings.Repeat("x", 60_000)
		r, body := send(t, "POST", s.URL, form)
		if i < 2 && body != fmt.Sprintf("%x <nil>", sha256.Sum256([]byte(form))) || i == 2 && r.StatusCode != 429 {
			t.Errorf("request %d: %s %q", i, r.Status, body)
		}
	}
	if r, _ := send(t, "POST", s.URL, "user="+strings.Repeat("x", 65<<10)); r.StatusCode != 413 {
		t.Errorf("a large body: %s", r.Status)
	}
}

func TestLimitPanicsAtStart(t *testing.T) {
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "stint: ") {
			t.Errorf("panic: %v", p)
		}
	}()
	echolimit.Limit("many")
}
