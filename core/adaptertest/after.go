package adaptertest

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stint-go/stint/core"
)

var afterRows = []row{
	{"only failures count", onlyFailures},
	{"the status is that of the error handler", errorStatus},
	{"a success forgets, failures ban", failuresBan},
	{"refusals ban", refusalsBan},
	{"requests in flight", inFlight},
	{"a handler settles what it reserved", settledByHandler},
	{"allow and deny lists", listed},
	{"a shadow is not to be seen", shadowed},
}

// asTold answers with the status that the request asks for: "ok", or by the
// framework's own way of failing.
func asTold(x Exchange) {
	status, err := strconv.Atoi(x.Request().Header("X-Status"))
	switch {
	case err != nil:
		x.Text(200, "ok")
	case x.Request().Header("X-Fail") != "":
		x.Fail(status)
	default:
		x.Text(status, "as told")
	}
}

func (v *server) told(client int, method, fields string) int {
	v.Helper()
	status := v.ask(client, strings.TrimSuffix(method+" /login\n"+fields, "\n")).status
	v.note(fmt.Sprintf("%s: %d", fields, status))
	return status
}

func onlyFailures(s *suite) {
	p := exact("login", "2/m")
	p.CountIf = core.OnStatus(401)
	l := s.limiter(p)
	v := s.serve(route("POST", "/login", asTold, Limited(l)))
	for range 5 {
		s.equal("a success", v.told(1, "POST", ""), 200)
	}
	s.equal("left", s.remaining(l, "login", clientKey(1)), int64(2))
	s.equal("a failure", v.told(1, "POST", "X-Status: 401"), 401)
	s.equal("another kind", v.told(1, "POST", "X-Status: 500"), 500)
	s.equal("a failure", v.told(1, "POST", "X-Status: 401"), 401)
	s.equal("too many", v.told(1, "POST", ""), 429)
	s.equal("somebody else", v.told(2, "POST", ""), 200)
}

func errorStatus(s *suite) {
	p := exact("login", "2/m")
	p.CountIf = core.OnStatus(401)
	l := s.limiter(p)
	app := route("POST", "/login", asTold, Limited(l))
	app.Layers = []Layer{Limited(l), {Gate: func(x Exchange) bool {
		if x.Request().Header("X-Gate") != "" {
			x.Text(401, "not you")
			return false
		}
		return true
	}}}
	v := s.serve(app)
	s.equal("failing otherwise", v.told(1, "POST", "X-Status: 404\nX-Fail: 1"), 404)
	s.equal("left", s.remaining(l, "login", clientKey(1)), int64(2))
	s.equal("failing", v.told(1, "POST", "X-Status: 401\nX-Fail: 1"), 401)
	s.equal("an aborted chain", v.told(1, "POST", "X-Gate: 1"), 401)
	s.equal("too many", v.told(1, "POST", ""), 429)
}

func failuresBan(s *suite) {
	p := exact("login", "100/m")
	p.CountIf, p.ResetIf = core.OnStatus(401), core.OnStatus(200)
	p.Ban = &core.Ban{After: 2, Within: time.Hour, For: time.Hour, Failures: true}
	v := s.serve(route("POST", "/login", asTold, Limited(s.limiter(p))))
	for _, status := range []int{401, 200, 401, 401} {
		s.equal("a login", v.told(1, "POST", fmt.Sprint("X-Status: ", status)), status)
	}
	a := v.ask(1, "POST /login")
	s.equal("banned", fmt.Sprint(a.status, " ", a.header.Get("Retry-After"), " ", strings.Contains(a.body, core.ProblemAbnormalUsage)), "429 3600 true")
	s.equal("somebody else", v.told(2, "POST", ""), 200)
	s.advance(time.Hour)
	s.equal("an hour later", v.told(1, "POST", ""), 200)
}

func refusalsBan(s *suite) {
	p := exact("api", "1/m")
	p.Ban = &core.Ban{After: 2, Within: time.Hour, For: time.Hour, Max: 3 * time.Hour}
	v := s.serve(route("GET", "/login", asTold, Limited(s.limiter(p))))
	ask := func() string {
		a := v.ask(1, "GET /login")
		return fmt.Sprintf("%d %q %s ban=%t", a.status, a.header.Get("Retry-After"), a.header.Get("RateLimit"),
			strings.Contains(a.body, core.ProblemAbnormalUsage))
	}
	for i, want := range []string{`200 "" "api";r=0;t=60 ban=false`, `429 "60" "api";r=0;t=60 ban=false`,
		`429 "3600" "api";r=0;t=60 ban=true`, `429 "3600" "api";r=0;t=60 ban=true`} {
		s.equal(fmt.Sprint("request ", i+1), ask(), want)
	}
	s.advance(time.Hour)
	s.equal("an hour later", ask(), `200 "" "api";r=0;t=60 ban=false`)
}

// inFlight: what runs is counted, and no longer when it ends, by a panic too.
func inFlight(s *suite) {
	p := core.Policy{Name: "export", Rate: "2/5m", Strategy: core.InFlight{}}
	l := s.limiter(p)
	var running sync.WaitGroup
	arrived, end := make(chan struct{}), make(chan struct{})
	h := func(x Exchange) {
		switch x.Request().Header("X-Do") {
		case "wait":
			arrived <- struct{}{}
			<-end
		case "panic":
			panic("a handler's own")
		}
		x.Text(200, "ok")
	}
	app := route("GET", "/", h, Limited(l))
	app.Recover = true
	v := s.serve(app)
	s.equal("the policy", v.ask(1, "GET /").header.Get("RateLimit-Policy"), `"export";q=2;qu="concurrent-requests"`)
	for range 3 {
		v.ask(1, "GET /\nX-Do: panic")
	}
	for range 2 {
		running.Go(func() { v.ask(1, "GET /\nX-Do: wait") })
		<-arrived
	}
	a := v.ask(1, "GET /")
	s.equal("a third at once", fmt.Sprint(a.status, " ", a.header.Get("Retry-After")), "429 300")
	s.equal("somebody else", v.ask(2, "GET /").status, 200)
	close(end)
	running.Wait()
	for range 5 {
		s.equal("afterwards", v.ask(1, "GET /").status, 200)
	}
	s.equal("left", s.remaining(l, "export", clientKey(1)), int64(2))
}

func settledByHandler(s *suite) {
	p := exact("tokens", "100/m")
	p.Cost, p.Reserve = 40, true
	l := s.limiter(p)
	v := s.serve(route("POST", "/login", func(x Exchange) {
		r := x.Reservation()
		ctx, gone := context.WithCancel(context.Background())
		gone()
		if n, err := strconv.ParseInt(x.Request().Header("X-Actual"), 10, 64); err == nil {
			err = r.Commit(ctx, n)
			if err == nil {
				err = r.Cancel(ctx) // once is all it takes
			}
			if err != nil {
				x.Text(500, err.Error())
				return
			}
		}
		x.Text(200, fmt.Sprint(r != nil))
	}, Limited(l), Limited(l)))
	left := func(fields string) int64 {
		if a := v.ask(1, strings.TrimSuffix("POST /login\n"+fields, "\n")); a.status != 200 || a.body != "true" {
			s.Errorf("%s: %v %s", fields, a.status, a.body)
		}
		return s.remaining(l, "tokens", clientKey(1))
	}
	s.equal("less", left("X-Actual: 10"), int64(90))
	s.equal("nothing", left("X-Actual: 0"), int64(90))
	s.equal("unsettled", left(""), int64(50))
	s.equal("more", left("X-Actual: 70"), int64(0))
	s.equal("in debt", v.ask(1, "POST /login").status, 429)
}

func listed(s *suite) {
	var allow, deny core.List
	must := func(err error) {
		if err != nil {
			s.Fatal(err)
		}
	}
	only := func(client int) []netip.Prefix {
		return []netip.Prefix{netip.MustParsePrefix(clientAddr(client) + "/32")}
	}
	must(deny.Add(core.Entries{Prefixes: only(2)}))
	must(allow.Add(core.Entries{Prefixes: only(3)}))
	v := s.serve(route("GET", "/login", asTold, Limited(s.configured(core.Config{
		AllowList: &allow, DenyList: &deny, Policies: []core.Policy{exact("api", "1/m")}}))))
	s.equal("limited", v.told(1, "GET", ""), 200)
	s.equal("limited", v.told(1, "GET", ""), 429)
	for range 3 {
		a := v.ask(2, "GET /login")
		s.equal("denied", fmt.Sprint(a.status, " ", a.header.Get("RateLimit"), a.header.Get("Retry-After"), " ", a.body),
			`403  {"type":"about:blank","title":"Forbidden","status":403}`)
		s.equal("exempt", v.told(3, "GET", ""), 200)
	}
	must(deny.Replace(core.Entries{}))
	s.equal("forgiven", v.told(2, "GET", ""), 200)
}

func shadowed(s *suite) {
	p, silent := exact("api", "3/m"), exact("strict", "1/m")
	p.Candidate = &core.Candidate{Rate: "2/m"}
	silent.Mode = core.Shadow
	l := s.limiter(silent, p)
	v := s.serve(route("GET", "/", decision, Limited(l)))
	for i := range 3 {
		s.expect(v.send(1, "GET /"), fmt.Sprintf(`200 | "api";q=3;w=60 | "api";r=%d;t=60 | no decision`, 2-i))
	}
	s.expect(v.send(1, "GET /"), `429 | "api";q=3;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
	for policy, want := range map[string]core.Trial{"api": {Agreed: 3, NewlyRefused: 1}, "strict": {Agreed: 1, NewlyRefused: 3}} {
		got, err := l.Trial(policy)
		if err != nil {
			s.Fatal(err)
		}
		if got != want {
			s.Errorf("%s: %+v, want %+v", policy, got, want)
		}
	}
}
