package adaptertest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stint-go/stint/core"
)

var failureRows = []row{
	{"closed while the backend is down", closedWhileDown},
	{"a fallback while the backend is down", fallbackWhileDown},
	{"open while the backend is down", openWhileDown},
	{"one policy is closed, another falls back", mixedWhileDown},
	{"what is not the backend's fault is closed", notTheBackend},
}

// unsteady is a backend that fails while it has an error, and brings along another.
type unsteady struct {
	core.Backend
	own core.Backend
	err atomic.Pointer[error]
}

func (s *suite) unsteady() *unsteady {
	s.Helper()
	return &unsteady{Backend: s.Backend(s.T), own: s.Backend(s.T)}
}

func (b *unsteady) fail(err error) { b.err.Store(&err) }
func (b *unsteady) mend()          { b.err.Store(nil) }

func (b *unsteady) Fallback() core.Backend { return b.own }

func (b *unsteady) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	if err := b.err.Load(); err != nil {
		return 0, *err
	}
	return b.Backend.Take(ctx, at, asks, out)
}

// failing is a policy with a mode.
func failing(p core.Policy, m core.FailureMode) core.Policy {
	p.OnFailure = m
	return p
}

// degraded answers with what the handler finds in the context about failures.
func degraded(x Exchange) {
	d, _ := x.Decision()
	text := fmt.Sprintf("degraded=%t cause=%v", d.Degraded, d.Cause)
	for e := range d.Entries() {
		text += fmt.Sprintf(" %s=%t/%t/%t", e.Policy, e.Allowed, e.Fallback, e.Err != nil)
	}
	x.Text(200, text)
}

func closedWhileDown(s *suite) {
	b := s.unsteady()
	var handled atomic.Int64
	l := s.configured(core.Config{Backend: b, Policies: []core.Policy{failing(exact("login", "3/m"), core.FailClosed)}})
	v := s.serve(route("POST", "/login", counted(&handled), Limited(l)))
	s.expect(v.send(1, "POST /login"), `200 | "login";q=3;w=60 | "login";r=2;t=60 | ok`)
	b.fail(fmt.Errorf("secret text: %w", core.ErrUnavailable))
	for range 5 {
		s.expect(v.send(1, "POST /login"), `503 | "login";q=3;w=60 | retry 5 | problem`)
	}
	s.equal("handled", handled.Load(), int64(1))
	b.mend()
	s.expect(v.send(1, "POST /login"), `200 | "login";q=3;w=60 | "login";r=1;t=60 | ok`)
}

func fallbackWhileDown(s *suite) {
	b := s.unsteady()
	l := s.configured(core.Config{Backend: b, Instances: 2, KeepDecision: true, Policies: []core.Policy{exact("api", "4/m")}})
	v := s.serve(route("GET", "/", degraded, Limited(l)))
	s.expect(v.send(1, "GET /"), `200 | "api";q=4;w=60 | "api";r=3;t=60 | degraded=false cause=none api=true/false/false`)
	b.fail(core.NewUnavailable(core.ClassTimeout, "too late"))
	s.expect(v.send(1, "GET /"), `200 | "api";q=4;w=60 | "api";r=1;t=60 | degraded=true cause=timeout api=true/true/true`)
	s.advance(10 * time.Second)
	s.expect(v.send(1, "GET /"), `200 | "api";q=4;w=60 | "api";r=0;t=50 | degraded=true cause=timeout api=true/true/true`)
	s.expect(v.send(1, "GET /"), `429 | "api";q=4;w=60 | "api";r=0;t=50 | retry 50 | violated "api"`)
	s.expect(v.send(2, "GET /"), `200 | "api";q=4;w=60 | "api";r=1;t=60 | degraded=true cause=timeout api=true/true/true`)
	b.mend()
	s.expect(v.send(1, "GET /"), `200 | "api";q=4;w=60 | "api";r=2;t=50 | degraded=false cause=none api=true/false/false`)
}

func openWhileDown(s *suite) {
	b := s.unsteady()
	l := s.configured(core.Config{Backend: b, KeepDecision: true, Policies: []core.Policy{failing(exact("api", "1/m"), core.FailOpen)}})
	v := s.serve(route("GET", "/", degraded, Limited(l)))
	b.fail(core.NewUnavailable(core.ClassOpen, "not asked"))
	for range 5 {
		s.expect(v.send(1, "GET /"), `200 | "api";q=1;w=60 | degraded=true cause=open api=true/false/true`)
	}
}

func mixedWhileDown(s *suite) {
	b := s.unsteady()
	login := failing(exact("login", "5/m"), core.FailClosed)
	login.Methods = core.Unsafe
	l := s.configured(core.Config{Backend: b, Policies: []core.Policy{exact("api", "2/m"), login}})
	v := s.serve(routes(ok, []Layer{Limited(l)}, "GET /", "POST /login"))
	b.fail(core.ErrUnavailable)
	s.expect(v.send(1, "POST /login"), `503 | "api";q=2;w=60, "login";q=5;w=60 | "api";r=2 | retry 5 | problem`)
	s.expect(v.send(1, "GET /"), `200 | "api";q=2;w=60 | "api";r=1;t=60 | ok`)
	s.expect(v.send(1, "POST /login"), `503 | "api";q=2;w=60, "login";q=5;w=60 | "api";r=1;t=60 | retry 5 | problem`)
	s.expect(v.send(1, "GET /"), `200 | "api";q=2;w=60 | "api";r=0;t=60 | ok`)
	s.expect(v.send(1, "GET /"), `429 | "api";q=2;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`)
}

func notTheBackend(s *suite) {
	b := s.unsteady()
	l := s.configured(core.Config{Backend: b, Policies: []core.Policy{failing(exact("api", "9/m"), core.FailOpen)}})
	v := s.serve(route("GET", "/", ok, Limited(l)))
	for _, err := range []error{core.ErrProtocol, core.NewUnavailable(core.ClassConfig, "no permission"), core.ErrUnsupported} {
		b.fail(err)
		s.expect(v.send(1, "GET /"), `503 | "api";q=9;w=60 | retry 5 | problem`)
	}
}
