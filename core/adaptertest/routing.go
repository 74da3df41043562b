package adaptertest

import (
	"fmt"

	"github.com/stint-go/stint/core"
)

var routingRows = []row{
	{"a route is counted by its template and method", routeTemplates},
	{"HEAD counts as GET, OPTIONS by itself", headAndOptions},
	{"an app-wide limiter counts unknown routes", unknownRoutes},
	{"routes known to an app-wide limiter", lateRoutes},
	{"routes known to a group's limiter", groupRoutes},
	{"policies for some methods, and with exceptions", methodsAndExceptions},
	{"spellings of one route", spellings},
	{"methods of one route", methods},
}

// template is a path as the framework writes it.
func (s *suite) template(neutral string) string {
	if s.Template == nil {
		return neutral
	}
	return s.Template(neutral)
}

// routeKey is the key under which ByRoute counts.
func (s *suite) routeKey(method, neutral string) core.Key {
	return core.KeyOf(core.KindRoute, method, s.template(neutral))
}

func routeTemplates(s *suite) {
	l := s.limiter(counting("api", "3/m", core.ByRoute))
	app := routes(ok, []Layer{Limited(l)}, "GET /users/{id}", "POST /users/{id}", "GET /users/{id}/posts/{post}")
	v := s.serve(app)
	s.expect(v.send(1, "GET /users/1"), `200 | "api";q=3;w=60 | "api";r=2;t=60 | ok`)
	s.expect(v.send(2, "GET /users/2?x=1"), `200 | "api";q=3;w=60 | "api";r=1;t=60 | ok`)
	s.expect(v.send(1, "POST /users/1"), `200 | "api";q=3;w=60 | "api";r=2;t=60 | ok`)
	s.expect(v.send(1, "GET /users/1/posts/2"), `200 | "api";q=3;w=60 | "api";r=2;t=60 | ok`)
	s.equal("GET /users/{id}", s.remaining(l, "api", s.routeKey("GET", "/users/{id}")), int64(1))
	s.equal("POST /users/{id}", s.remaining(l, "api", s.routeKey("POST", "/users/{id}")), int64(2))
	s.equal("GET /users/{id}/posts/{post}", s.remaining(l, "api", s.routeKey("GET", "/users/{id}/posts/{post}")), int64(2))
}

func headAndOptions(s *suite) {
	l := s.limiter(counting("api", "2/m", core.ByRoute))
	v := s.serve(routes(ok, []Layer{Limited(l)}, "GET /a", "HEAD /a", "OPTIONS /a"))
	s.expect(v.send(1, "GET /a"), `200 | "api";q=2;w=60 | "api";r=1;t=60 | ok`)
	s.expect(v.send(1, "HEAD /a"), `200 | "api";q=2;w=60 | "api";r=0;t=60`)
	s.expect(v.send(1, "HEAD /a"), `429 | "api";q=2;w=60 | "api";r=0;t=60 | retry 60`)
	s.expect(v.send(1, "GET /a"), `429 | "api";q=2;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
	s.expect(v.send(1, "OPTIONS /a"), `200 | "api";q=2;w=60 | "api";r=1;t=60 | ok`)
}

func unknownRoutes(s *suite) {
	l := s.limiter(exact("api", "3/m"))
	app := routes(ok, nil, "GET /a")
	app.Layers = []Layer{Limited(l)}
	v := s.serve(app)
	s.expect(v.send(1, "GET /a"), `200 | "api";q=3;w=60 | "api";r=2;t=60 | ok`)
	s.expect(v.send(1, "GET /nowhere"), `404 | "api";q=3;w=60 | "api";r=1;t=60`)
	s.expect(v.send(1, "GET /no/such/place"), `404 | "api";q=3;w=60 | "api";r=0;t=60`)
	s.expect(v.send(1, "GET /nowhere"), `429 | "api";q=3;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
	s.expect(v.send(1, "GET /a"), `429 | "api";q=3;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
}

// groupRoutes is lateRoutes for middleware of a group.
func groupRoutes(s *suite) {
	l := s.limiter(counting("api", "9/m", core.ByRoute))
	v := s.serve(App{Groups: []Group{{"/api", []Layer{Limited(l)}, []Route{{"GET", "/users/{id}", nil, ok}, {"GET", "/b", nil, ok}}}}})
	v.ask(1, "GET /api/users/1")
	v.ask(1, "GET /api/users/2")
	v.ask(1, "GET /api/b")
	s.differ("routes known to a group's limiter", fmt.Sprintf("/users %d, /b %d, shared %d",
		9-s.remaining(l, "api", s.routeKey("GET", "/api/users/{id}")),
		9-s.remaining(l, "api", s.routeKey("GET", "/api/b")),
		9-s.remaining(l, "api", core.KeyOf(core.KindRoute, "", ""))),
		"/users 2, /b 1, shared 0")
}

// lateRoutes says whether the framework's router has run when middleware of the
// whole application does. Where it has not, or found nothing, all routes share
// one cell.
func lateRoutes(s *suite) {
	l := s.limiter(counting("api", "9/m", core.ByRoute))
	app := routes(ok, nil, "GET /a", "GET /b")
	app.Layers = []Layer{Limited(l)}
	v := s.serve(app)
	for range 3 {
		v.ask(1, "GET /a")
	}
	v.ask(1, "GET /b")
	v.ask(1, "GET /nowhere")
	v.ask(1, "GET /elsewhere")
	s.differ("routes known to an app-wide limiter", fmt.Sprintf("/a %d, /b %d, shared %d",
		9-s.remaining(l, "api", s.routeKey("GET", "/a")),
		9-s.remaining(l, "api", s.routeKey("GET", "/b")),
		9-s.remaining(l, "api", core.KeyOf(core.KindRoute, "", ""))),
		"/a 0, /b 0, shared 6")
}

func methodsAndExceptions(s *suite) {
	p := exact("api", "1/m")
	p.Methods = []string{"GET", "DELETE"}
	p.Except = []string{s.template("/health/{part}")}
	v := s.serve(routes(ok, []Layer{Limited(s.limiter(p))}, "GET /a", "HEAD /a", "POST /a", "GET /health/{part}"))
	s.expect(v.send(1, "POST /a"), `200 | ok`)
	s.expect(v.send(1, "GET /health/disk"), `200 | ok`)
	s.expect(v.send(1, "HEAD /a"), `200 | "api";q=1;w=60 | "api";r=0;t=60`)
	s.expect(v.send(1, "GET /a"), `429 | "api";q=1;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
	s.expect(v.send(1, "POST /a"), `200 | ok`)
	s.expect(v.send(1, "GET /health/disk"), `200 | ok`)
}

// fates tells what becomes of requests to an app with a limiter on the routes
// GET and POST /login: the status, and whether the route's budget was charged.
func (s *suite) fates() func(request string) string {
	const plenty = 1000
	l := s.limiter(counting("all", "1000/m", core.Const("all")), counting("route", "1000/m", core.ByRoute))
	v := s.serve(routes(ok, []Layer{Limited(l)}, "GET /login", "POST /login"))
	charged := func() (all, route int64) {
		return plenty - s.remaining(l, "all", core.KeyOf(core.KindConst, "", "all")),
			2*plenty - s.remaining(l, "route", s.routeKey("GET", "/login")) - s.remaining(l, "route", s.routeKey("POST", "/login"))
	}
	return func(request string) string {
		all, route := charged()
		a := v.ask(1, request)
		allNow, routeNow := charged()
		switch {
		case allNow == all && a.status == 200:
			return "200 without being counted"
		case allNow == all:
			return fmt.Sprintf("%d free", a.status)
		case allNow == all+1 && routeNow == route+1:
			return fmt.Sprintf("%d charged", a.status)
		}
		return fmt.Sprintf("%d charged elsewhere", a.status)
	}
}

func spellings(s *suite) {
	fate := s.fates()
	for _, c := range [][2]string{
		{"GET /login", "200 charged"},
		{"GET /login?next=/", "200 charged"},
		{"GET /login?", "200 charged"},
		{"GET /login#top", "404 free"},
		{"GET http://example.org/login", "200 charged"},
		{"GET /login/", "404 free"},
		{"GET /LOGIN", "404 free"},
		{"GET /LoGiN/", "404 free"},
		{"GET //login", "307 free"},
		{"GET /./login", "307 free"},
		{"GET /x/../login", "307 free"},
		{"GET /%6Cogin", "200 charged"},
		{"GET /login%2F", "404 free"},
		{"GET /login%20", "404 free"},
		{"GET /login;a=b", "404 free"},
		{"GET /login%00", "404 free"},
		{"GET /login/..", "307 free"},
	} {
		s.differ(c[0], fate(c[0]), c[1])
	}
}

func methods(s *suite) {
	fate := s.fates()
	for _, c := range [][2]string{
		{"POST /login", "200 charged"},
		{"HEAD /login", "200 charged"},
		{"OPTIONS /login", "405 free"},
		{"PUT /login", "405 free"},
		{"get /login", "405 free"},
		{"FOO /login", "405 free"},
		{"PUT /login\nX-HTTP-Method-Override: POST", "405 free"},
		{"POST /login?_method=GET\nContent-Type: application/x-www-form-urlencoded\n\n_method=GET", "200 charged"},
	} {
		s.differ(c[0], fate(c[0]), c[1])
	}
}
