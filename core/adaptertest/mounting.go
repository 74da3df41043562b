package adaptertest

import (
	"strings"
	"sync/atomic"

	"github.com/stint-go/stint/core"
)

var mountingRows = []row{
	{"groups and per-handler limits", groupsAndHandlers},
	{"one limiter on app, group and route charges once", onceOnly},
	{"the decision of a limiter met again is kept", onceOnlyKeepsTheDecision},
	{"the request after one that met a limiter twice is a new one", onceOnlyPerRequest},
	{"stacked limiters decide in order and share the fields", stacked},
	{"a chain that ended before the limiter costs nothing", endedBefore},
	{"a chain that ends after the limiter is charged", endedAfter},
	{"a refusal ends the chain", refusalEnds},
	{"CORS answers the pre-flight before the limiter", preflightBefore},
	{"CORS answers the pre-flight behind the limiter", preflightBehind},
	{"the short way", shortWay},
	{"the decision is that of the limiter closest to the handler", closestDecision},
}

func groupsAndHandlers(s *suite) {
	api, login := s.limiter(exact("api", "3/m")), s.limiter(exact("login", "1/m"))
	v := s.serve(App{Groups: []Group{
		{"/api", []Layer{Limited(api)}, []Route{{"GET", "/a", nil, ok}, {"GET", "/b", nil, ok}}},
		{"", nil, []Route{{"POST", "/login", []Layer{Limited(login)}, ok}, {"GET", "/free", nil, ok}}},
	}})
	s.expect(v.send(1, "GET /api/a"), `200 | "api";q=3;w=60 | "api";r=2;t=60 | ok`)
	s.expect(v.send(1, "GET /api/b"), `200 | "api";q=3;w=60 | "api";r=1;t=60 | ok`)
	s.expect(v.send(1, "POST /login"), `200 | "login";q=1;w=60 | "login";r=0;t=60 | ok`)
	s.expect(v.send(1, "POST /login"), `429 | "login";q=1;w=60 | "login";r=0;t=60 | retry 60 | violated "login"`)
	s.expect(v.send(1, "GET /free"), `200 | ok`)
	s.expect(v.send(1, "GET /api/b"), `200 | "api";q=3;w=60 | "api";r=0;t=60 | ok`)
	s.expect(v.send(1, "GET /api/a"), `429 | "api";q=3;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
}

func onceOnly(s *suite) {
	l := s.limiter(exact("api", "2/m"))
	v := s.serve(App{Layers: []Layer{Limited(l)}, Groups: []Group{
		{"/api", []Layer{Limited(l)}, []Route{{"GET", "/a", []Layer{Limited(l), Limited(l)}, ok}}},
	}})
	s.expect(v.send(1, "GET /api/a"), `200 | "api";q=2;w=60 | "api";r=1;t=60 | ok`)
	s.expect(v.send(1, "GET /api/a"), `200 | "api";q=2;w=60 | "api";r=0;t=60 | ok`)
	s.expect(v.send(1, "GET /api/a"), `429 | "api";q=2;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
}

// onceOnlyKeepsTheDecision: what was decided at the first meeting is what the
// handler finds, not the silence of the second.
func onceOnlyKeepsTheDecision(s *suite) {
	p := exact("soft", "1/m")
	p.Mode = core.Annotate
	l := s.limiter(p)
	v := s.serve(App{Layers: []Layer{Limited(l)}, Groups: []Group{
		{"/api", []Layer{Limited(l)}, []Route{{"GET", "/a", []Layer{Limited(l)}, decision}}},
	}})
	const fields = `200 | "soft";q=1;w=60 | "soft";r=0;t=60 | `
	s.expect(v.send(1, "GET /api/a"), fields+`allowed=true limited=false policy=soft limit=1 remaining=0 retry=0s`)
	s.expect(v.send(1, "GET /api/a"), fields+`allowed=true limited=true policy=soft limit=1 remaining=0 retry=1m0s`)
}

// onceOnlyPerRequest sends requests over one connection, so that a framework
// which reuses what it tells requests apart by does so.
func onceOnlyPerRequest(s *suite) {
	l := s.limiter(exact("api", "10/m"))
	v := s.serve(App{Layers: []Layer{Limited(l)}, Groups: []Group{
		{"", nil, []Route{{"GET", "/a", []Layer{Limited(l)}, ok}}},
	}})
	w := v.dial(1)
	s.equal("admitted of 30 on one connection", w.admitted(30, func(int) string { return "GET /a" }), 10)
	s.equal("left", s.remaining(l, "api", clientKey(1)), int64(0))
}

func stacked(s *suite) {
	outer, inner := s.limiter(exact("outer", "3/h")), s.limiter(exact("inner", "1/m"))
	v := s.serve(App{Layers: []Layer{Limited(outer)}, Groups: []Group{
		{"", nil, []Route{{"GET", "/a", []Layer{Limited(inner)}, ok}}},
	}})
	const policy = `"outer";q=3;w=3600, "inner";q=1;w=60`
	s.expect(v.send(1, "GET /a"), `200 | `+policy+` | "outer";r=2;t=3600, "inner";r=0;t=60 | ok`)
	s.expect(v.send(1, "GET /a"), `429 | `+policy+` | "outer";r=1;t=3600, "inner";r=0;t=60 | retry 60 | violated "inner"`)
	v.send(1, "GET /a")
	s.expect(v.send(1, "GET /a"), `429 | "outer";q=3;w=3600 | "outer";r=0;t=3600 | retry 3600 | violated "outer"`)
	s.equal("left of the inner one", s.remaining(inner, "inner", clientKey(1)), int64(0))
}

// keyed is a gate that wants a credential.
func keyed(n *atomic.Int64) Layer {
	return Layer{Gate: func(x Exchange) bool {
		n.Add(1)
		if x.Request().Header("X-Pass") == "yes" {
			return true
		}
		x.Text(401, "who?")
		return false
	}}
}

func endedBefore(s *suite) {
	var gates atomic.Int64
	l := s.limiter(exact("api", "1/m"))
	v := s.serve(route("GET", "/", ok, keyed(&gates), Limited(l)))
	s.expect(v.send(1, "GET /"), `401 | who?`)
	s.expect(v.send(1, "GET /\nX-Pass: yes"), `200 | "api";q=1;w=60 | "api";r=0;t=60 | ok`)
	s.expect(v.send(1, "GET /"), `401 | who?`)
	s.expect(v.send(1, "GET /\nX-Pass: yes"), `429 | "api";q=1;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
	s.equal("gates", gates.Load(), int64(4))
}

func endedAfter(s *suite) {
	var gates, handled atomic.Int64
	l := s.limiter(exact("api", "2/m"))
	v := s.serve(route("GET", "/", counted(&handled), Limited(l), keyed(&gates)))
	s.expect(v.send(1, "GET /"), `401 | "api";q=2;w=60 | "api";r=1;t=60 | who?`)
	s.expect(v.send(1, "GET /"), `401 | "api";q=2;w=60 | "api";r=0;t=60 | who?`)
	s.expect(v.send(1, "GET /\nX-Pass: yes"), `429 | "api";q=2;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
	s.equal("gates, handled", [2]int64{gates.Load(), handled.Load()}, [2]int64{2, 0})
}

func refusalEnds(s *suite) {
	var gates, handled atomic.Int64
	pass := Layer{Gate: func(Exchange) bool { gates.Add(1); return true }}
	v := s.serve(App{Layers: []Layer{Limited(s.limiter(exact("api", "1/m")))}, Groups: []Group{
		{"/g", []Layer{pass}, []Route{{"GET", "/a", []Layer{pass}, counted(&handled)}}},
	}})
	v.send(1, "GET /g/a")
	s.expect(v.send(1, "GET /g/a"), `429 | "api";q=1;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
	s.equal("gates, handled", [2]int64{gates.Load(), handled.Load()}, [2]int64{2, 1})
}

const preflight = "OPTIONS /a\nOrigin: https://example.org\nAccess-Control-Request-Method: POST"

// cors answers pre-flights as the usual middleware does.
var cors = Layer{Gate: func(x Exchange) bool {
	if n := x.Request(); n.Method() == "OPTIONS" && n.Header("Access-Control-Request-Method") != "" {
		x.Text(200, "go ahead")
		return false
	}
	return true
}}

func preflightBefore(s *suite) {
	l := s.limiter(exact("api", "1/m"))
	app := routes(ok, nil, "POST /a", "OPTIONS /a")
	app.Layers = []Layer{cors, Limited(l)}
	v := s.serve(app)
	for range 3 {
		s.expect(v.send(1, preflight), `200 | go ahead`)
	}
	s.expect(v.send(1, "POST /a"), `200 | "api";q=1;w=60 | "api";r=0;t=60 | ok`)
}

func preflightBehind(s *suite) {
	p := exact("api", "2/m")
	unsafe := exact("unsafe", "1/m")
	unsafe.Methods = core.Unsafe
	app := routes(ok, nil, "POST /a", "OPTIONS /a")
	app.Layers = []Layer{Limited(s.limiter(p)), Limited(s.limiter(unsafe)), cors}
	v := s.serve(app)
	s.expect(v.send(1, preflight), `200 | "api";q=2;w=60 | "api";r=1;t=60 | go ahead`)
	s.expect(v.send(1, "POST /a"), `200 | "api";q=2;w=60, "unsafe";q=1;w=60 | "api";r=0;t=60, "unsafe";r=0;t=60 | ok`)
	s.expect(v.send(1, preflight), `429 | "api";q=2;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
}

func closestDecision(s *suite) {
	keep := func(name, rate string) Layer {
		return Limited(s.configured(core.Config{Policies: []core.Policy{exact(name, rate)}, KeepDecision: true}))
	}
	v := s.serve(App{Layers: []Layer{keep("outer", "9/m")}, Groups: []Group{
		{"", nil, []Route{{"GET", "/a", []Layer{keep("inner", "5/m")}, decision}}},
	}})
	s.expect(v.send(1, "GET /a"), `200 | "outer";q=9;w=60, "inner";q=5;w=60 | "outer";r=8;t=60, "inner";r=4;t=60 | `+
		`allowed=true limited=false policy=inner limit=5 remaining=4 retry=0s`)
}

// shortWay is on the clock of the wall, so its waits are not in the Record.
func shortWay(s *suite) {
	v := s.serve(App{Layers: []Layer{{Rate: "9/d; 6/w"}}, Groups: []Group{{"", nil, []Route{
		{"GET", "/ip", []Layer{{Rate: "2/d"}}, ok},
		{"GET", "/key", []Layer{{Rate: "1/d", By: []core.KeySource{core.ByIP, core.ByHeader("X-Api-Key")}}}, ok},
	}}}})
	ask := func(client int, request string) string {
		a := v.ask(client, request)
		return strings.Join([]string{a.String()[:3], a.header.Get("Ratelimit-Policy")}, " ")
	}
	const app = `"default-1d";q=9;w=86400, "default-1w";q=6;w=604800`
	for _, want := range []string{"200", "200", "429"} {
		s.equal("/ip", ask(1, "GET /ip"), want+` `+app+`, "default";q=2;w=86400`)
	}
	s.equal("a key", ask(1, "GET /key\nX-Api-Key: a"), `200 `+app+`, "default";q=1;w=86400`)
	s.equal("another key", ask(1, "GET /key\nX-Api-Key: b"), `200 `+app+`, "default";q=1;w=86400`)
	s.equal("the same key", ask(1, "GET /key\nX-Api-Key: a"), `429 `+app+`, "default";q=1;w=86400`)
	s.equal("more than the application's", ask(1, "GET /ip"), `429 `+app)
	s.equal("another client", ask(2, "GET /ip"), `200 `+app+`, "default";q=2;w=86400`)
}
