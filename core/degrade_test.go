package core_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

var quiet = slog.New(slog.DiscardHandler)

// late is a time-out as the net package has it.
type late struct{ error }

func (late) Timeout() bool { return true }

// classed has a class, but is not ErrUnavailable.
type classed struct{}

func (classed) Error() string     { return "a stranger's" }
func (classed) Class() core.Class { return core.ClassTimeout }

// failures are an error of every class that a backend may answer with, and whether
// the store is to blame.
var failures = []struct {
	class core.Class
	err   error
	down  bool
}{
	{core.ClassUnavailable, core.ErrUnavailable, true},
	{core.ClassTimeout, fmt.Errorf("%w: %w", core.ErrUnavailable, late{errors.New("i/o timeout")}), true},
	{core.ClassPool, core.NewUnavailable(core.ClassPool, "no connection"), true},
	{core.ClassOpen, fmt.Errorf("take: %w", core.NewUnavailable(core.ClassOpen, "not asked")), true},
	{core.ClassBusy, core.NewUnavailable(core.ClassBusy, "busy"), true},
	{core.ClassOOM, core.NewUnavailable(core.ClassOOM, "out of memory"), true},
	{core.ClassReadOnly, core.NewUnavailable(core.ClassReadOnly, "a replica"), true},
	{core.ClassContention, core.NewUnavailable(core.ClassContention, "contention"), true},
	{core.ClassClosed, core.NewUnavailable(core.ClassClosed, "closed"), true},
	{core.ClassConfig, core.NewUnavailable(core.ClassConfig, "no permission"), false},
	{core.ClassProtocol, fmt.Errorf("a list: %w", core.ErrProtocol), false},
	{core.ClassProtocol, fmt.Errorf("%w: %w", core.ErrUnavailable, core.ErrProtocol), false},
	{core.ClassIdentity, fmt.Errorf("%w: %w", core.ErrUnavailable, core.ErrIdentity), false},
	{core.ClassBody, fmt.Errorf("%w: %w", core.ErrUnavailable, core.ErrBodyBroken), false},
	{core.ClassUnknown, core.NewUnavailable(core.ClassUnknown, "who knows"), false},
	{core.ClassUnknown, errors.New("key too long"), false},
	{core.ClassUnknown, late{errors.New("somebody else's time-out")}, false},
	{core.ClassUnknown, core.ErrUnsupported, false},
	{core.ClassTimeout, classed{}, false},
}

// Every class of error under every mode, alone and beside a policy that can be
// decided, with the cells in one place and apart.
func TestFailureModes(t *testing.T) {
	for _, f := range failures {
		for _, mode := range []core.FailureMode{core.Fallback, core.FailClosed, core.FailOpen} {
			for _, whole := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v %v %v %v", f.class, f.err, mode, whole), func(t *testing.T) {
					c, b := newClock(), newFaulty()
					b.whole = whole
					l := configured(t, core.Config{Backend: b, Instances: 2, Now: c.now, Logger: quiet,
						Policies: []core.Policy{ten("api", mode)}})
					visit(l, get("192.0.2.1"))
					b.errs["api"] = f.err
					want := map[core.FailureMode]int{core.Fallback: 5, core.FailOpen: 20}[mode]
					if !f.down {
						want = 0
					}
					if got := admitted(l, 20, func() core.Native { return get("192.0.2.1") }); got != want {
						t.Errorf("%d of 20 admitted, want %d", got, want)
					}
					v := visit(l, get("192.0.2.1"))
					d := v.Decision
					if !d.Degraded || d.Cause != f.class || d.Policy != "api" {
						t.Errorf("degraded %v, cause %v, policy %q", d.Degraded, d.Cause, d.Policy)
					}
					for e := range d.Entries() {
						if !errors.Is(e.Err, f.err) || e.Fallback != (f.down && mode == core.Fallback) {
							t.Errorf("error %v, fallback %v", e.Err, e.Fallback)
						}
					}
					if !f.down || mode == core.FailClosed {
						if s := v.Response.Status; v.Pass || d.Limited || s < 400 || s == 429 || d.RetryAfter != 5*time.Second {
							t.Errorf("pass %v, limited %v, status %d, wait %v", v.Pass, d.Limited, s, d.RetryAfter)
						}
					} else if s := v.Response.Status; mode == core.Fallback && (s != 429 || !d.Limited) {
						t.Errorf("status %d, limited %v", s, d.Limited)
					}
					delete(b.errs, "api") // and back: what was counted before still is
					v = visit(l, get("192.0.2.1"))
					if d := v.Decision; d.Degraded || d.Cause != core.ClassNone || d.Remaining != 8 {
						t.Errorf("afterwards degraded %v, %v, %d remaining", d.Degraded, d.Cause, d.Remaining)
					}
				})
			}
		}
	}
}

func TestClasses(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range failures {
		if got := core.ClassOf(f.err); got != f.class {
			t.Errorf("%v: class %v, want %v", f.err, got, f.class)
		}
		seen[f.class.String()] = true
	}
	for c := core.ClassUnavailable; c < core.ClassUnknown; c++ {
		if !seen[c.String()] && c != core.ClassHook {
			t.Errorf("class %v is not in the table", c)
		}
	}
	if core.ClassOf(nil) != core.ClassNone || core.ClassNone.String() != "none" || core.Class(200).String() != "unknown" {
		t.Error("no error, or a class that does not exist")
	}
}

// Without anything to fall back to, Fallback is FailClosed; Config.Fallback comes
// before what the backend brings along.
func TestWhatToFallBackTo(t *testing.T) {
	c, b := newClock(), newFaulty()
	b.errs["api"] = core.ErrUnavailable
	one := func(b core.Backend, f core.Backend) *core.Visit {
		l := configured(t, core.Config{Backend: b, Fallback: f, Now: c.now, Logger: quiet, Policies: []core.Policy{ten("api", core.Fallback)}})
		return visit(l, get("192.0.2.1"))
	}
	if v := one(struct{ core.Backend }{b}, nil); v.Pass || v.Response.Status != 503 {
		t.Errorf("a backend that brings nothing: pass %v, %d", v.Pass, v.Response.Status)
	}
	named := memory.New()
	if v := one(struct{ core.Backend }{b}, named); !v.Pass || v.Decision.Remaining != 9 {
		t.Errorf("with one named: pass %v, %d remaining", v.Pass, v.Decision.Remaining)
	}
	if v := one(b, named); v.Decision.Remaining != 8 {
		t.Errorf("with both: %d remaining, want those of the one named", v.Decision.Remaining)
	}
	b.own = nil
	if v := one(b, nil); v.Pass || v.Response.Status != 503 {
		t.Errorf("a backend that answers nil: pass %v, %d", v.Pass, v.Response.Status)
	}
	broken := newFaulty()
	broken.errs["api"] = errors.New("the fallback is down too")
	if v := one(b, broken); v.Pass || v.Response.Status != 503 || v.Decision.Cause != core.ClassUnavailable {
		t.Errorf("a fallback that fails: pass %v, %d, %v", v.Pass, v.Response.Status, v.Decision.Cause)
	}
}

// One decision of two policies, of which one can not be reached.
func TestMixedDecisions(t *testing.T) {
	full := func(c *clock, b core.Backend, policy string) { // nothing left of its ten
		l := configured(t, core.Config{Backend: b, Now: c.now, Policies: []core.Policy{ten(policy, core.Fallback)}})
		admitted(l, 10, func() core.Native { return get("192.0.2.1") })
	}
	counting := func(p core.Policy) core.Policy { p.CountDenied = true; return p }
	soft := func(p core.Policy) core.Policy { p.Mode = core.Annotate; return p }
	near, far := ten("near", core.FailClosed), ten("far", core.Fallback)
	closed, open := ten("far", core.FailClosed), ten("far", core.FailOpen)
	down := map[string]error{"far": core.ErrUnavailable}
	for _, tc := range []struct {
		name     string
		policies []core.Policy
		errs     map[string]error
		full     string // the policy that is at its limit, in its store
		status   int    // 0: it passes
		policy   string // speaks
		near     int64  // units counted of this request: in the store,
		far      int64  // and by the fallback
	}{
		{"both are charged", []core.Policy{near, far}, down, "", 0, "near", 1, 1},
		{"the fallback refuses: the store's charge is given back", []core.Policy{near, far}, down, "far", 429, "far", 0, 0},
		{"the store refuses: the fallback is not charged", []core.Policy{far, near}, down, "near", 429, "near", 0, 0},
		{"closed: the store's charge is given back", []core.Policy{near, closed}, down, "", 503, "far", 0, 0},
		{"closed and at the limit of another", []core.Policy{near, closed}, down, "near", 503, "near", 0, 0},
		{"open: the store decides alone", []core.Policy{near, open}, down, "", 0, "near", 1, 0},
		{"open, and the store refuses", []core.Policy{near, open}, down, "near", 429, "near", 0, 0},
		{"one closed, one falls back", []core.Policy{near, far}, map[string]error{"far": core.ErrUnavailable, "near": core.ErrUnavailable}, "", 503, "near", 0, 0},
		{"something foreign closes all", []core.Policy{near, open}, map[string]error{"far": core.ErrProtocol}, "", 503, "far", 0, 0},
		{"refused requests count where the fallback refuses", []core.Policy{counting(near), far}, down, "far", 429, "far", 1, 0},
		{"refused requests count in the fallback", []core.Policy{near, counting(far)}, down, "near", 429, "near", 0, 1},
		{"what is closed counts nowhere", []core.Policy{counting(near), counting(closed)}, down, "", 503, "far", 0, 0},
		{"closed, but it only annotates", []core.Policy{near, soft(closed)}, down, "", 0, "near", 1, 0},
		{"the fallback annotates", []core.Policy{near, soft(far)}, down, "far", 0, "far", 1, 0},
		{"what annotates in the store stays charged", []core.Policy{soft(near), far}, down, "far", 429, "far", 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, b := newClock(), newFaulty()
			stores := map[string]core.Backend{"near": b.Backend, "far": b.own}
			before := map[string]int64{tc.full: 10}
			if tc.full != "" {
				full(c, stores[tc.full], tc.full)
			}
			c.advance(time.Second)
			b.errs = tc.errs
			l := configured(t, core.Config{Backend: b, Now: c.now, Logger: quiet, Policies: tc.policies})
			v := visit(l, get("192.0.2.1"))
			if v.Pass != (tc.status == 0) || v.Response.Status != tc.status || v.Decision.Policy != tc.policy || !v.Decision.Degraded {
				t.Errorf("pass %v, status %d, policy %q, %+v", v.Pass, v.Response.Status, v.Decision.Policy, slices.Collect(v.Decision.Entries()))
			}
			if b.takes != 1 {
				t.Errorf("%d trips", b.takes)
			}
			for policy, want := range map[string]int64{"near": tc.near, "far": tc.far} {
				if got := used(t, c, stores[policy], policy) - before[policy]; got != want {
					t.Errorf("%s: %d units counted, want %d", policy, got, want)
				}
			}
			for e := range v.Decision.Entries() {
				if e.Err == nil && e.Limit-e.Remaining != used(t, c, stores[e.Policy], e.Policy) {
					t.Errorf("%s: told %d remaining of %d", e.Policy, e.Remaining, e.Limit)
				}
			}
		})
	}
}

// What has failed may have been charged all the same. It is never given back.
func TestNothingIsGivenBackAfterAnAmbiguousError(t *testing.T) {
	for _, mode := range []core.FailureMode{core.Fallback, core.FailClosed, core.FailOpen} {
		c, b := newClock(), newFaulty()
		b.lost = true
		b.errs["far"] = core.ErrUnavailable
		l := configured(t, core.Config{Backend: b, Now: c.now, Logger: quiet, Policies: []core.Policy{
			{Name: "near", Rate: "0/s", Mode: core.Annotate}, ten("far", mode), {Name: "last", Rate: "3/m"}}})
		for range 12 {
			visit(l, get("192.0.2.1"))
		}
		if slices.Contains(b.settled, "far") || !slices.Contains(b.took, "far") {
			t.Errorf("%v: charged %v, given back %v", mode, b.took, b.settled)
		}
		if mode == core.FailClosed && !slices.Contains(b.settled, "last") {
			t.Errorf("given back %v", b.settled)
		}
	}
}

// A backend that lets an ask which it can not reach veto the others would have
// them pass for nothing: it is asked again for those alone.
func TestNothingPassesUncharged(t *testing.T) {
	for _, mode := range []core.FailureMode{core.Fallback, core.FailOpen} {
		for _, tc := range []struct {
			name      string
			second    func(c *clock, b *faulty) // what happens in between
			status    int
			near, far int64
		}{
			{"and charges", func(*clock, *faulty) {}, 0, 1, 1},
			{"and refuses", func(c *clock, b *faulty) {
				l := configured(t, core.Config{Backend: b.Backend, Now: c.now, Policies: []core.Policy{ten("near", mode)}})
				admitted(l, 20, func() core.Native { return get("192.0.2.1") })
			}, 429, 10, 0},
			{"and fails", func(_ *clock, b *faulty) { b.errs["near"] = core.ErrUnavailable }, 503, 0, 0},
			{"and is charged for nothing", func(_ *clock, b *faulty) { b.errs["near"], b.lost, b.vetoes = core.ErrUnavailable, true, false }, 503, 1, 0},
		} {
			c, b := newClock(), newFaulty()
			b.vetoes, b.second = true, func() { tc.second(c, b) }
			b.errs["far"] = core.ErrUnavailable
			l := configured(t, core.Config{Backend: b, Now: c.now, Logger: quiet, Policies: []core.Policy{ten("near", mode), ten("far", mode)}})
			v := visit(l, get("192.0.2.1"))
			if v.Response.Status != tc.status || b.takes != 2 {
				t.Errorf("%v, %s: status %d after %d trips", mode, tc.name, v.Response.Status, b.takes)
			}
			if mode == core.FailOpen {
				tc.far = 0
			}
			if near, far := used(t, c, b.Backend, "near"), used(t, c, b.own, "far"); near != tc.near || far != tc.far {
				t.Errorf("%v, %s: %d and %d units counted, want %d and %d", mode, tc.name, near, far, tc.near, tc.far)
			}
		}
	}
}

// Of several asks that are put again, those that were charged are given back where
// another fails.
func TestAllOrNothingOnTheSecondTrip(t *testing.T) {
	c, b := newClock(), newFaulty()
	b.errs["far"] = core.ErrUnavailable
	b.vetoes, b.second = true, func() { b.errs["also"], b.vetoes = core.ErrUnavailable, false }
	l := configured(t, core.Config{Backend: b, Now: c.now, Logger: quiet, Policies: []core.Policy{
		ten("near", core.FailOpen), ten("also", core.FailOpen), ten("far", core.FailOpen)}})
	if v := visit(l, get("192.0.2.1")); v.Response.Status != 503 || v.Decision.Policy != "also" {
		t.Errorf("status %d by %s", v.Response.Status, v.Decision.Policy)
	}
	if !slices.Equal(b.took, []string{"near"}) || used(t, c, b.Backend, "near") != 0 {
		t.Errorf("charged %v, %d counted", b.took, used(t, c, b.Backend, "near"))
	}
}

// A caller that has hung up, or whose own deadline has passed, opens no door.
func TestTheCallersEndIsNoFailure(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	past, stop := context.WithDeadline(context.Background(), time.Now().Add(time.Hour))
	defer stop()
	for name, tc := range map[string]struct {
		ctx  context.Context
		end  func()
		want error
	}{
		"hangs up":     {gone, cancel, context.Canceled},
		"out of time":  {&ending{Context: past}, func() {}, context.DeadlineExceeded},
		"still there ": {context.Background(), func() {}, nil},
	} {
		c, b := newClock(), newFaulty()
		b.errs["far"] = fmt.Errorf("%w: interrupted", core.ErrUnavailable)
		l := configured(t, core.Config{Backend: &interrupted{b, tc.end}, Now: c.now, Logger: quiet, Policies: []core.Policy{
			ten("near", core.FailOpen), ten("far", core.FailOpen)}})
		r := httptest.NewRequest("GET", "/", nil).WithContext(tc.ctx)
		r.RemoteAddr = "192.0.2.1:1"
		d, err := l.AllowRequest(httplimit.Request(r))
		if !errors.Is(err, tc.want) || d.Allowed != (tc.want == nil) || d.Degraded != (tc.want == nil) {
			t.Errorf("%s: %v, allowed %v, degraded %v", name, err, d.Allowed, d.Degraded)
		}
		if n := used(t, c, b.Backend, "near"); (n == 0) != (tc.want != nil) {
			t.Errorf("%s: %d units were charged", name, n)
		}
	}
}

// interrupted is a backend during whose call the caller ends.
type interrupted struct {
	core.Backend
	end func()
}

func (b *interrupted) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	now, err := b.Backend.Take(ctx, at, asks, out)
	b.end()
	return now, err
}

// ending is a context whose deadline has passed, though its timer has not fired
// yet, as may be when a socket's has.
type ending struct{ context.Context }

func (*ending) Deadline() (time.Time, bool) { return time.Unix(1, 0), true }

// Outside of requests the same modes decide. A refusal that is the backend's fault
// is an error as well.
func TestFailureOutsideOfRequests(t *testing.T) {
	key := core.NewKey("k", "v")
	for _, mode := range []core.FailureMode{core.Fallback, core.FailClosed, core.FailOpen} {
		for _, rate := range []string{"3/m", "3/m; 9/h"} {
			c, b := newClock(), newFaulty()
			b.errs["jobs"] = core.ErrUnavailable
			l := configured(t, core.Config{Backend: b, Now: c.now, Logger: quiet, Policies: []core.Policy{{Name: "jobs", Rate: rate, OnFailure: mode}}})
			check := func(what string, d core.Decision, err error) {
				t.Helper()
				closed := mode == core.FailClosed
				if (err != nil) != closed || closed && !errors.Is(err, core.ErrUnavailable) || d.Allowed == closed || !d.Degraded {
					t.Errorf("%v: %s: %+v, %v", mode, what, d, err)
				}
			}
			d, err := l.Allow(t.Context(), "jobs", key, 2)
			check("Allow", d, err)
			if mode == core.Fallback && d.Remaining != 1 {
				t.Errorf("%d remaining", d.Remaining)
			}
			d, err = l.Peek(t.Context(), "jobs", key, 1)
			check("Peek", d, err)
			d, err = l.AllowRequest(get("192.0.2.1"))
			check("AllowRequest", d, err)
			d, err = l.PeekRequest(get("192.0.2.1"))
			check("PeekRequest", d, err)
			if err := l.Reset(t.Context(), "jobs", key); !errors.Is(err, core.ErrUnavailable) {
				t.Errorf("Reset: %v", err)
			}
			if err := l.ResetRequest(get("192.0.2.1")); !errors.Is(err, core.ErrUnavailable) {
				t.Errorf("ResetRequest: %v", err)
			}
			d, _ = l.Peek(t.Context(), "jobs", key, 0)
			if mode == core.Fallback && d.Remaining != 3 {
				t.Errorf("after a reset the fallback has %d of 3", d.Remaining)
			}
		}
	}
}

// Both backends are reset, though the caller's time runs out with the first.
func TestResetReachesTheFallback(t *testing.T) {
	c, b := newClock(), newFaulty()
	b.errs["jobs"] = core.ErrUnavailable
	ctx, cancel := context.WithCancel(t.Context())
	l := configured(t, core.Config{Backend: slowReset{b, cancel}, Now: c.now, Logger: quiet, Policies: []core.Policy{ten("jobs", core.Fallback)}})
	key := core.NewKey("k", "v")
	if d, err := l.Allow(ctx, "jobs", key, 4); err != nil || d.Remaining != 6 {
		t.Fatal(d, err)
	}
	if err := l.Reset(ctx, "jobs", key); !errors.Is(err, core.ErrUnavailable) {
		t.Error(err)
	}
	if d, _ := l.Peek(t.Context(), "jobs", key, 0); d.Remaining != 10 {
		t.Errorf("%d remaining", d.Remaining)
	}
	if err := l.Reset(ctx, "jobs", key); err != context.Canceled {
		t.Errorf("after the caller has gone: %v", err)
	}
}

// slowReset takes until the caller has gone.
type slowReset struct {
	*faulty
	cancel context.CancelFunc
}

func (b slowReset) Reset(ctx context.Context, cells ...core.Cell) error {
	b.cancel()
	return b.faulty.Reset(ctx, cells...)
}

// The backend's short way fails too, where memory is full.
func TestShortWayFails(t *testing.T) {
	for mode, pass := range map[core.FailureMode]bool{core.Fallback: false, core.FailClosed: false, core.FailOpen: true} {
		full := &fullMemory{memory.New()}
		l := configured(t, core.Config{Backend: full, Logger: quiet, Policies: []core.Policy{ten("api", mode)}})
		v := visit(l, get("192.0.2.1"))
		if v.Pass != pass || !v.Decision.Degraded || v.Decision.Cause != core.ClassOOM || !pass && v.Response.Status != 503 {
			t.Errorf("%v: pass %v, %+v", mode, v.Pass, v.Decision)
		}
		l = configured(t, core.Config{Backend: full, Fallback: memory.New(), Logger: quiet, Policies: []core.Policy{ten("api", mode)}})
		if v := visit(l, get("192.0.2.1")); v.Pass != (mode != core.FailClosed) {
			t.Errorf("%v with a fallback: pass %v", mode, v.Pass)
		}
		d, err := l.Allow(t.Context(), "api", core.NewKey("k", "v"), 1)
		if d.Allowed != (mode != core.FailClosed) || (err == nil) != d.Allowed {
			t.Errorf("%v outside: %v, %v", mode, d.Allowed, err)
		}
	}
}

type fullMemory struct{ *memory.Backend }

func (fullMemory) TakeOne(int64, *core.Space, core.Rule, core.Print, int64, core.When) (core.Taken, core.Figures, error) {
	return core.Taken{}, core.Figures{}, core.NewUnavailable(core.ClassOOM, "full")
}

// What clients see of a decision that is not all the backend's.
func TestHeaderOfDegradedDecisions(t *testing.T) {
	near, far := ten("near", core.FailClosed), ten("far", core.Fallback)
	for _, tc := range []struct {
		name     string
		headers  core.Headers
		policies []core.Policy
		want     string
	}{
		{"fallback", 0, []core.Policy{near, far}, `Ratelimit-Policy: "near";q=10;w=60, "far";q=10;w=60 | Ratelimit: "near";r=9;t=60, "far";r=4;t=60`},
		{"open", 0, []core.Policy{near, ten("far", core.FailOpen)}, `Ratelimit-Policy: "near";q=10;w=60, "far";q=10;w=60 | Ratelimit: "near";r=9;t=60`},
		{"open alone, the common fields", 0, []core.Policy{ten("far", core.FailOpen)}, `Ratelimit-Policy: "far";q=10;w=60`},
		{"open alone", core.HeadersDraft10 | core.HeadersLegacy, []core.Policy{ten("far", core.FailOpen)}, `Ratelimit-Policy: "far";q=10;w=60`},
		{"closed", 0, []core.Policy{near, ten("far", core.FailClosed)}, `Ratelimit-Policy: "near";q=10;w=60, "far";q=10;w=60 | Ratelimit: "near";r=10 | Retry-After: 5`},
		{"closed, legacy", core.HeadersLegacy, []core.Policy{near, ten("far", core.FailClosed)}, `Retry-After: 5`},
		{"legacy", core.HeadersLegacy, []core.Policy{near, far}, `X-Ratelimit-Limit: 10 | X-Ratelimit-Remaining: 4 | X-Ratelimit-Reset: 1700000060`},
		{"none", core.HeadersNone, []core.Policy{ten("far", core.FailClosed)}, `Retry-After: 5`},
	} {
		c, b := newClock(), newFaulty()
		b.errs["far"] = core.ErrUnavailable
		l := configured(t, core.Config{Backend: b, Instances: 2, Now: c.now, Logger: quiet, Headers: tc.headers, Jitter: true, Policies: tc.policies})
		d := visit(l, get("192.0.2.1")).Decision
		var fields []string
		for k, v := range d.Header() {
			fields = append(fields, k+": "+v)
		}
		if got := strings.Join(fields, " | "); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
		h := map[string][]string{}
		d.WriteHeader(h)
		if len(h) != len(fields) {
			t.Errorf("%s: %v written", tc.name, h)
		}
	}
}

func TestClosedAsAnError(t *testing.T) {
	b := newFaulty()
	b.errs["api"] = core.NewUnavailable(core.ClassTimeout, "secret text")
	l := configured(t, core.Config{Backend: b, Logger: quiet, ReturnErrors: true, Policies: []core.Policy{ten("api", core.FailClosed)}})
	err := visit(l, get("192.0.2.1")).Err()
	if err == nil || err.Error() != "stint: request refused: it could not be decided: timeout" || err.Response.Status != 503 || !err.Decision.Degraded {
		t.Errorf("%+v", err)
	}
}

func TestFailureSettingsAreChecked(t *testing.T) {
	_, err := core.New(core.Config{Backend: memory.New(), Fallback: (*memory.Backend)(nil), Instances: -1,
		Policies: []core.Policy{{Name: "a", Rate: "1/s", OnFailure: core.FailOpen + 1}}})
	for _, want := range []string{"fallback: a nil *memory.Backend", "-1 instances", `policy "a": OnFailure 3`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}
