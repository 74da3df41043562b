package adaptertest

import (
	"time"

	"github.com/stint-go/stint/core"
)

var decisionRows = []row{
	{"allowed and refused", allowedAndRefused},
	{"a rate below a second, and a limit of zero", oddRates},
	{"several rates in one policy", severalRates},
	{"several policies with different keys are all or nothing", severalPolicies},
	{"each of several identities, all or nothing", eachIdentity},
	{"annotate lets pass and tells the handler", annotate},
	{"the decision is kept when asked for", keepDecision},
	{"counting refused requests", countDenied},
	{"legacy fields, both, and none", headerChoices},
	{"the switch that turns everything off", disabled},
	{"a handler asks for itself", askInside},
}

func allowedAndRefused(s *suite) {
	v := s.serve(route("GET", "/text", ok, Limited(s.limiter(exact("api", "3/m")))))
	s.expect(v.send(1, "GET /text"), `200 | "api";q=3;w=60 | "api";r=2;t=60 | ok`)
	s.advance(20 * time.Second)
	s.expect(v.send(1, "GET /text"), `200 | "api";q=3;w=60 | "api";r=1;t=40 | ok`)
	s.expect(v.send(1, "GET /text"), `200 | "api";q=3;w=60 | "api";r=0;t=40 | ok`)
	s.expect(v.send(1, "GET /text"), `429 | "api";q=3;w=60 | "api";r=0;t=40 | retry 40 | violated "api"`)
	s.expect(v.send(2, "GET /text"), `200 | "api";q=3;w=60 | "api";r=2;t=60 | ok`)
	s.advance(40*time.Second - time.Microsecond)
	s.expect(v.send(1, "GET /text"), `429 | "api";q=3;w=60 | "api";r=0;t=1 | retry 1 | violated "api"`)
	s.advance(time.Microsecond)
	s.expect(v.send(1, "GET /text"), `200 | "api";q=3;w=60 | "api";r=0;t=20 | ok`)
}

func oddRates(s *suite) {
	fast, never := s.limiter(exact("fast", "1/250ms")), s.limiter(exact("never", "0/s"))
	v := s.serve(App{Groups: []Group{{Routes: []Route{
		{"GET", "/fast", []Layer{Limited(fast)}, ok},
		{"GET", "/never", []Layer{Limited(never)}, ok},
	}}}})
	s.expect(v.send(1, "GET /fast"), `200 | "fast";q=1 | "fast";r=0;t=1 | ok`)
	s.expect(v.send(1, "GET /fast"), `429 | "fast";q=1 | "fast";r=0;t=1 | retry 1 | violated "fast"`)
	s.expect(v.send(1, "GET /never"), `429 | "never";q=0;w=1 | "never";r=0 | violated "never"`)
}

func severalRates(s *suite) {
	v := s.serve(route("GET", "/", ok, Limited(s.limiter(exact("api", "1/s; 2/m")))))
	const policy = `"api-1s";q=1;w=1, "api-1m";q=2;w=60`
	s.expect(v.send(1, "GET /"), `200 | `+policy+` | "api-1s";r=0;t=1, "api-1m";r=1;t=60 | ok`)
	s.expect(v.send(1, "GET /"), `429 | `+policy+` | "api-1s";r=0;t=1, "api-1m";r=1;t=60 | retry 1 | violated "api"`)
	s.advance(time.Second)
	s.expect(v.send(1, "GET /"), `200 | `+policy+` | "api-1s";r=0;t=1, "api-1m";r=0;t=59 | ok`)
	s.expect(v.send(1, "GET /"), `429 | `+policy+` | "api-1s";r=0;t=1, "api-1m";r=0;t=59 | retry 59 | violated "api"`)
}

func severalPolicies(s *suite) {
	l := s.limiter(
		exact("client", "3/m"),
		counting("key", "2/m", core.ByHeader("X-Api-Key")),
		counting("all", "4/m", core.Const("all")),
	)
	v := s.serve(route("GET", "/", ok, Limited(l)))
	left := func() [3]int64 {
		return [3]int64{
			s.remaining(l, "client", clientKey(1)),
			s.remaining(l, "key", core.KeyOf(core.KindHeader, "X-Api-Key", "alice")),
			s.remaining(l, "all", core.KeyOf(core.KindConst, "", "all")),
		}
	}
	const policy = `"client";q=3;w=60, "key";q=2;w=60, "all";q=4;w=60`
	s.expect(v.send(1, "GET /\nX-Api-Key: alice"), `200 | `+policy+` | "client";r=2;t=60, "key";r=1;t=60, "all";r=3;t=60 | ok`)
	v.send(1, "GET /\nX-Api-Key: alice")
	s.expect(v.send(1, "GET /\nX-Api-Key: alice"), `429 | `+policy+` | "client";r=1;t=60, "key";r=0;t=60, "all";r=2;t=60 | retry 60 | violated "key"`)
	s.equal("after a refusal, left", left(), [3]int64{1, 0, 2})
	v.send(1, "GET /\nX-Api-Key: bob")
	v.send(2, "GET /\nX-Api-Key: carol")
	s.expect(v.send(1, "GET /\nX-Api-Key: alice"),
		`429 | `+policy+` | "client";r=0;t=60, "key";r=0;t=60, "all";r=0;t=60 | retry 60 | violated "client","key","all"`)
}

func eachIdentity(s *suite) {
	l := s.limiter(counting("api", "2/m", core.Each(core.ByIP, core.ByHeader("X-User"))))
	v := s.serve(route("GET", "/", ok, Limited(l)))
	s.expect(v.send(1, "GET /\nX-User: alice"), `200 | "api";q=2;w=60 | "api";r=1;t=60 | ok`)
	s.expect(v.send(2, "GET /\nX-User: alice"), `200 | "api";q=2;w=60 | "api";r=0;t=60 | ok`)
	s.expect(v.send(3, "GET /\nX-User: alice"), `429 | "api";q=2;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
	s.equal("left for the third client, which was refused", s.remaining(l, "api", clientKey(3)), int64(2))
}

func annotate(s *suite) {
	p := exact("soft", "1/m")
	p.Mode = core.Annotate
	v := s.serve(route("GET", "/", decision, Limited(s.limiter(p, exact("hard", "3/m")))))
	const policy = `"soft";q=1;w=60, "hard";q=3;w=60`
	s.expect(v.send(1, "GET /"), `200 | `+policy+` | "soft";r=0;t=60, "hard";r=2;t=60 | allowed=true limited=false policy=soft limit=1 remaining=0 retry=0s`)
	s.advance(time.Second)
	s.expect(v.send(1, "GET /"), `200 | `+policy+` | "soft";r=0;t=59, "hard";r=1;t=59 | allowed=true limited=true policy=soft limit=1 remaining=0 retry=59s`)
	v.send(1, "GET /")
	s.expect(v.send(1, "GET /"), `429 | `+policy+` | "soft";r=0;t=59, "hard";r=0;t=59 | retry 59 | violated "hard"`)
}

func keepDecision(s *suite) {
	kept := s.configured(core.Config{Policies: []core.Policy{exact("api", "2/m")}, KeepDecision: true})
	v := s.serve(App{Groups: []Group{{Routes: []Route{
		{"GET", "/kept", []Layer{Limited(kept)}, decision},
		{"GET", "/not", []Layer{Limited(s.limiter(exact("api", "2/m")))}, decision},
	}}}})
	s.expect(v.send(1, "GET /kept"), `200 | "api";q=2;w=60 | "api";r=1;t=60 | allowed=true limited=false policy=api limit=2 remaining=1 retry=0s`)
	s.expect(v.send(1, "GET /not"), `200 | "api";q=2;w=60 | "api";r=1;t=60 | no decision`)
}

func countDenied(s *suite) {
	p := exact("api", "1/m")
	p.CountDenied = true
	v := s.serve(route("GET", "/", ok, Limited(s.limiter(p))))
	v.send(1, "GET /")
	s.advance(59 * time.Second)
	s.expect(v.send(1, "GET /"), `429 | "api";q=1;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
	s.advance(2 * time.Second)
	s.expect(v.send(1, "GET /"), `429 | "api";q=1;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
}

func headerChoices(s *suite) {
	one := func(h core.Headers) []Layer {
		return []Layer{Limited(s.configured(core.Config{Policies: []core.Policy{exact("api", "1/m")}, Headers: h}))}
	}
	v := s.serve(App{Groups: []Group{{Routes: []Route{
		{"GET", "/legacy", one(core.HeadersLegacy), ok},
		{"GET", "/both", one(core.HeadersLegacy | core.HeadersDraft10), ok},
		{"GET", "/none", one(core.HeadersNone), ok},
	}}}})
	s.expect(v.send(1, "GET /legacy"), `200 | 1 | 0 | 1700000060 | ok`)
	s.expect(v.send(1, "GET /legacy"), `429 | 1 | 0 | 1700000060 | retry 60 | violated "api"`)
	s.expect(v.send(1, "GET /both"), `200 | "api";q=1;w=60 | "api";r=0;t=60 | 1 | 0 | 1700000060 | ok`)
	s.expect(v.send(1, "GET /none"), `200 | ok`)
	s.expect(v.send(1, "GET /none"), `429 | retry 60 | violated "api"`)
}

func disabled(s *suite) {
	l := s.configured(core.Config{Policies: []core.Policy{exact("api", "0/m")}, Disabled: true})
	v := s.serve(route("GET", "/", ok, Limited(l)))
	s.expect(v.send(1, "GET /"), `200 | ok`)
}

func askInside(s *suite) {
	l := s.limiter(exact("api", "5/m"))
	own := s.limiter(exact("mail", "1/h"))
	reset := func(n core.Native) (core.Decision, error) { return core.Decision{}, own.ResetRequest(n) }
	v := s.serve(App{Layers: []Layer{Limited(l)}, Groups: []Group{{Routes: []Route{
		{"GET", "/peek", nil, asking(l.PeekRequest)},
		{"GET", "/mail", nil, asking(own.AllowRequest)},
		{"GET", "/reset", nil, asking(reset)},
	}}}})
	s.expect(v.send(1, "GET /peek"), `200 | "api";q=5;w=60 | "api";r=4;t=60 | allowed=true limited=false policy=api limit=5 remaining=4 retry=0s`)
	s.expect(v.send(1, "GET /mail"), `200 | "api";q=5;w=60 | "api";r=3;t=60 | allowed=true limited=false policy=mail limit=1 remaining=0 retry=0s`)
	s.expect(v.send(1, "GET /mail"), `200 | "api";q=5;w=60 | "api";r=2;t=60 | allowed=false limited=true policy=mail limit=1 remaining=0 retry=1h0m0s`)
	v.send(1, "GET /reset")
	s.expect(v.send(1, "GET /mail"), `200 | "api";q=5;w=60 | "api";r=0;t=60 | allowed=true limited=false policy=mail limit=1 remaining=0 retry=0s`)
}
