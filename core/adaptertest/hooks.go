package adaptertest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/stint-go/stint/core"
)

var hookRows = []row{
	{"one hook struct over two levels of embedding", twoLevels},
	{"what a hook sees of a request", seen},
	{"a refusal in words of one's own", ownWords},
	{"a refusal through the framework's own context", nativeWords},
	{"observers hear of every refusal", observers},
	{"rates by function", rateFunctions},
	{"a hook that panics", hookPanics},
	{"a hook that aborts as net/http handlers do", hookAborts},
	{"a handler that panics", handlerPanics},
}

// loginGuard limits POSTs, by client and by the user name that they try.
type loginGuard struct {
	core.Base
	Field   string
	denials *atomic.Int64
}

func (g loginGuard) ShouldLimit(r core.Request) bool {
	return r.Method() == "POST" && g.Base.ShouldLimit(r)
}

func (g loginGuard) KeyExtra(r core.Request, k core.Key) core.Key {
	return g.Base.KeyExtra(r, k).With(g.Field, r.Form(g.Field))
}

func (g loginGuard) Disallowed(r core.Request, d core.Decision) core.Response {
	g.denials.Add(1)
	return g.Base.Disallowed(r, d)
}

// tenantGuard adds the tenant to what loginGuard does, and words of its own.
type tenantGuard struct{ loginGuard }

func (g tenantGuard) ShouldLimit(r core.Request) bool {
	return r.Header("X-Internal") == "" && g.loginGuard.ShouldLimit(r)
}

func (g tenantGuard) KeyExtra(r core.Request, k core.Key) core.Key {
	return g.loginGuard.KeyExtra(r, k).With("tenant", r.Header("X-Tenant"))
}

func (g tenantGuard) Disallowed(r core.Request, d core.Decision) core.Response {
	resp := g.loginGuard.Disallowed(r, d)
	resp.Header = map[string][]string{"X-Tenant-Seen": {r.Header("X-Tenant")}}
	return resp
}

func twoLevels(s *suite) {
	var denials atomic.Int64
	p := exact("login", "1/m")
	p.Hooks = tenantGuard{loginGuard{Field: "username", denials: &denials}}
	l := s.limiter(p)
	v := s.serve(routes(digest, []Layer{Limited(l)}, "POST /login", "GET /login"))
	login := func(tenant, user string) *answer {
		return v.send(1, "POST /login\nX-Tenant: "+tenant+urlencoded+"username="+user)
	}
	s.expect(login("a", "alice"), `200 | "login";q=1;w=60 | "login";r=0;t=60 | `+digestOf("username=alice"))
	refused := login("a", "alice")
	s.expect(refused, `429 | "login";q=1;w=60 | "login";r=0;t=60 | retry 60 | violated "login"`)
	s.equal("the outer Disallowed, with its super", fmt.Sprint(refused.header["X-Tenant-Seen"], denials.Load()), "[a] 1")
	s.equal("another name", login("a", "bob").status, 200)
	s.equal("another tenant", login("b", "alice").status, 200)
	s.expect(v.send(1, "GET /login"), `200 | `+digestOf(""))
	s.expect(v.send(1, "POST /login\nX-Internal: 1\nX-Tenant: a"+urlencoded+"username=alice"), `200 | `+digestOf("username=alice"))
	s.equal("left", s.remaining(l, "login", clientKey(1).With("username", "alice").With("tenant", "b")), int64(0))
}

// witness notes what there is to see.
type witness struct {
	core.Base
	text *string
}

func (w witness) KeyExtra(r core.Request, k core.Key) core.Key {
	*w.text = fmt.Sprintf("%s %s peer=%v ip=%v user=%s header=%q none=%q host=%q%q values=%q query=%q form=%q json=%q known=%t",
		r.Method(), r.Path(), r.Peer(), r.IP(), r.User(), r.Header("x-a"), r.Header("X-None"), r.Header("Host"), r.HeaderValues("host"),
		r.HeaderValues("X-a"), r.Query("q"), r.Form("f"), r.JSON("j"), r.Route() != "")
	return k
}

func seen(s *suite) {
	var text string
	p := exact("api", "9/m")
	p.Hooks = witness{text: &text}
	l := s.configured(core.Config{Policies: []core.Policy{p}, User: userFromHeader})
	v := s.serve(routes(ok, []Layer{Limited(l)}, "POST /a/{id}", "GET /a/{id}"))
	for request, want := range map[string]string{
		"GET /a/1": `GET /a/1 peer=127.0.0.1 ip=127.0.0.1 user= header="" none="" host=""[] values=[] query="" form="" json="" known=true`,
		"POST /a/B?q=%26&q=2\nX-A: 1\nx-a: 2, 3\nX-User: bob" + urlencoded + "f=%C3%A9&q=3": `POST /a/B peer=127.0.0.1 ip=127.0.0.1 user=bob ` +
			`header="1" none="" host=""[] values=["1" "2, 3"] query="&" form="é" json="" known=true`,
		"POST /a/c" + jsonBody + `{"j":true,"f":"x"}`: `POST /a/c peer=127.0.0.1 ip=127.0.0.1 user= header="" none="" host=""[] values=[] query="" form="" json="true" known=true`,
	} {
		if v.ask(1, request); text != want {
			s.Errorf("%.60q\ngot  %s\nwant %s", request, text, want)
		}
	}
}

// words answers refusals with Response.
type words struct {
	core.Base
	core.Response
}

func (w words) Disallowed(core.Request, core.Decision) core.Response { return w.Response }

func ownWords(s *suite) {
	app := App{}
	add := func(path string, c core.Config, hooks core.Hooks) {
		p := exact("api", "0/m")
		p.Hooks = hooks
		c.Policies = []core.Policy{p}
		app.Groups = append(app.Groups, Group{"", nil, []Route{{"GET", path, []Layer{Limited(s.configured(c))}, ok}}})
	}
	add("/json", core.Config{}, words{Response: core.Response{Status: 420, ContentType: "application/json", Body: []byte(`{"calm":true}`),
		Header: map[string][]string{"X-Mood": {"calm"}, "Cache-Control": {"no-store"}}}})
	add("/empty", core.Config{}, words{})
	add("/status", core.Config{}, words{Response: core.Response{Status: 503}})
	all := core.Config{Disallowed: func(r core.Request, d core.Decision) core.Response {
		return core.Response{Status: 429, ContentType: "text/plain", Body: []byte("no " + d.Policy + " for " + r.IP().String())}
	}}
	add("/all", all, nil)
	add("/base", all, core.Base{})
	v := s.serve(app)
	a := v.send(1, "GET /json")
	s.expect(a, `420 | "api";q=0;w=60 | "api";r=0 | {"calm":true}`)
	s.equal("fields", fmt.Sprint(a.header["X-Mood"], a.header["Cache-Control"], a.header["Content-Type"]), "[calm] [no-store] [application/json]")
	a = v.send(1, "GET /empty")
	s.expect(a, `429 | "api";q=0;w=60 | "api";r=0`)
	s.equal("type and length of nothing", fmt.Sprint(a.header["Content-Type"], a.header["Content-Length"]), "[] [0]")
	s.expect(v.send(1, "GET /status"), `503 | "api";q=0;w=60 | "api";r=0`)
	s.expect(v.send(1, "GET /all"), `429 | "api";q=0;w=60 | "api";r=0 | no api for 127.0.0.1`)
	s.expect(v.send(1, "GET /base"), `429 | "api";q=0;w=60 | "api";r=0 | no api for 127.0.0.1`)
}

// nativeHook answers through the framework.
type nativeHook struct {
	core.Base
	native func(r core.Request, status int, text string) bool
}

func (h nativeHook) Disallowed(r core.Request, d core.Decision) core.Response {
	return core.Response{Written: h.native(r, 420, "calm down, "+d.Policy)}
}

func nativeWords(s *suite) {
	var handled atomic.Int64
	p := exact("api", "1/m")
	p.Hooks = nativeHook{native: s.Native}
	v := s.serve(route("GET", "/", counted(&handled), Limited(s.limiter(p))))
	s.expect(v.send(1, "GET /"), `200 | "api";q=1;w=60 | "api";r=0;t=60 | ok`)
	s.expect(v.send(1, "GET /"), `420 | "api";q=1;w=60 | "api";r=0;t=60 | retry 60 | calm down, api`)
	s.equal("handled", handled.Load(), int64(1))
	s.equal("a request of no framework", s.Native(stranger{}, 420, ""), false)
}

// stranger is a request of another adapter.
type stranger struct{ core.Request }

func (stranger) Unwrap() any { return stranger{} }

// observer hears of refusals.
type observer struct {
	core.Base
	heard *atomic.Int64
}

func (o observer) Denied(core.Request, core.Decision) { o.heard.Add(1) }

func observers(s *suite) {
	var soft, hard, quiet atomic.Int64
	policies := []core.Policy{exact("soft", "1/m"), exact("hard", "2/m"), exact("quiet", "9/m")}
	policies[0].Mode = core.Annotate
	for i, n := range []*atomic.Int64{&soft, &hard, &quiet} {
		policies[i].Hooks = observer{heard: n}
	}
	v := s.serve(route("GET", "/", ok, Limited(s.limiter(policies...))))
	for range 5 {
		v.send(1, "GET /")
	}
	s.equal("heard", [3]int64{soft.Load(), hard.Load(), quiet.Load()}, [3]int64{4, 3, 0})
}

func rateFunctions(s *suite) {
	p := core.Policy{Name: "api", Strategy: core.MovingWindow{}, RateFunc: func(_ string, r core.Request) (core.Rates, error) {
		switch plan := r.Header("X-Plan"); plan {
		case "free":
			return core.Rates{}, nil
		case "down":
			return nil, errors.New("the plans are down: secret text")
		default:
			return core.ParseRates(plan)
		}
	}}
	v := s.serve(route("GET", "/", ok, Limited(s.limiter(p))))
	s.expect(v.send(1, "GET /\nX-Plan: 2/m"), `200 | "api";q=2;w=60 | "api";r=1;t=60 | ok`)
	s.expect(v.send(1, "GET /\nX-Plan: 5/m"), `200 | "api";q=5;w=60 | "api";r=3;t=60 | ok`)
	s.expect(v.send(1, "GET /\nX-Plan: 0/m"), `429 | "api";q=0;w=60 | "api";r=0 | violated "api"`)
	s.expect(v.send(1, "GET /\nX-Plan: free"), `200 | ok`)
	s.expect(v.send(1, "GET /\nX-Plan: down"), `503 | problem`)
	s.expect(v.send(1, "GET /\nX-Plan: nonsense"), `503 | problem`)
}

// grenade panics where it is told to by the request.
type grenade struct{ core.Base }

func (grenade) throw(r core.Request, where string) {
	switch r.Header("X-Panic") {
	case where:
		panic("secret text in " + where)
	case where + " abort":
		panic(http.ErrAbortHandler)
	case where + " nil":
		_ = strings.Fields("")[len(where)]
	}
}

func (g grenade) ShouldLimit(r core.Request) bool              { g.throw(r, "should"); return true }
func (g grenade) KeyExtra(r core.Request, k core.Key) core.Key { g.throw(r, "key"); return k }
func (g grenade) Cost(r core.Request) int64                    { g.throw(r, "cost"); return 1 }
func (g grenade) Denied(r core.Request, _ core.Decision)       { g.throw(r, "denied") }
func (g grenade) Disallowed(r core.Request, d core.Decision) core.Response {
	g.throw(r, "disallowed")
	return g.Base.Disallowed(r, d)
}

// grenadeApp has a policy "first" that admits plenty, and behind it "api".
func (s *suite) grenadeApp(rate string) (*server, *core.Limiter) {
	s.Helper()
	p := counting("api", rate, core.Each(core.ByIP, core.ByUser))
	p.Hooks, p.Missing = grenade{}, core.MissingSkip
	c := core.Config{Policies: []core.Policy{exact("first", "100/m"), p}, User: func(r core.Request) string {
		grenade{}.throw(r, "user")
		return ""
	}}
	l := s.configured(c)
	return s.serve(route("GET", "/", ok, Limited(l))), l
}

func hookPanics(s *suite) {
	v, l := s.grenadeApp("2/m")
	before := []string{"should", "key", "cost", "user", "key nil"}
	for _, where := range before {
		s.expect(v.send(1, "GET /\nX-Panic: "+where), `500 | problem`)
	}
	s.equal("left after panics before the decision", s.remaining(l, "first", clientKey(1)), int64(100))
	const policy = `"first";q=100;w=60, "api";q=2;w=60`
	s.expect(v.send(1, "GET /\nX-Panic: denied"), `200 | `+policy+` | "first";r=99;t=60, "api";r=1;t=60 | ok`)
	s.expect(v.send(1, "GET /"), `200 | `+policy+` | "first";r=98;t=60, "api";r=0;t=60 | ok`)
	s.expect(v.send(1, "GET /\nX-Panic: denied"), `500 | problem`)
	for _, where := range []string{"disallowed", "disallowed nil"} { // the fields were there before, and are true
		s.expect(v.send(1, "GET /\nX-Panic: "+where), `500 | `+policy+` | "first";r=98;t=60, "api";r=0;t=60 | retry 60 | problem`)
	}
	s.expect(v.send(1, "GET /"), `429 | `+policy+` | "first";r=98;t=60, "api";r=0;t=60 | retry 60 | violated "api"`)
	s.equal("log lines for 8 panics", strings.Count(s.log.String(), "\n"), 1)
}

// hookAborts: the panic with which net/http handlers abort a response does so
// from hooks too, where there is net/http; elsewhere it is a panic as any other.
func hookAborts(s *suite) {
	v, l := s.grenadeApp("1/m")
	fate := func(where string) string {
		if a := v.ask(1, "GET /\nX-Panic: "+where); a.status > 0 {
			return fmt.Sprint(a.status)
		}
		return "closed"
	}
	for _, where := range []string{"should abort", "key abort"} {
		s.differ("a hook that aborts as net/http handlers do", fate(where), "closed")
	}
	s.equal("the next one", v.send(1, "GET /").status, 200)
	s.differ("a hook that aborts as net/http handlers do", fate("disallowed abort"), "closed")
	s.equal("left", s.remaining(l, "api", clientKey(1)), int64(0))
}

// handlerPanics: what becomes of the response is the application's business, but
// the request was made and is charged, and the next is decided as ever.
func handlerPanics(s *suite) {
	l := s.limiter(exact("api", "5/m"))
	boom := func(x Exchange) {
		if x.Request().Header("X-Panic") != "" {
			panic("a handler's own")
		}
		x.Text(200, "ok")
	}
	app := App{Recover: true, Layers: []Layer{Limited(l)}, Groups: []Group{{"", nil, []Route{{"GET", "/", []Layer{Limited(l)}, boom}}}}}
	v := s.serve(app)
	for range 3 {
		s.differ("a handler that panics", fmt.Sprint(v.ask(1, "GET /\nX-Panic: 1").status), "500")
	}
	w := v.dial(1)
	s.equal("left", s.remaining(l, "api", clientKey(1)), int64(2))
	s.expect(w.send("GET /"), `200 | "api";q=5;w=60 | "api";r=1;t=60 | ok`)
	s.expect(w.send("GET /"), `200 | "api";q=5;w=60 | "api";r=0;t=60 | ok`)
	s.expect(w.send("GET /"), `429 | "api";q=5;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
}
