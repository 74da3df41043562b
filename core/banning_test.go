package core_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// A login that may be tried twice a minute; the third refusal bans for an hour,
// later ones for twice as long, up to a day.
var banning = core.Policy{Name: "login", Rate: "2/m", Strategy: core.MovingWindow{},
	Ban: &core.Ban{After: 3, Within: 10 * time.Minute, For: time.Hour, Max: 24 * time.Hour}}

func TestBanRefusesForAsLongAsItSays(t *testing.T) {
	c := newClock()
	l := limiter(t, c, banning)
	eve, bob := core.NewKey("user", "eve"), core.NewKey("user", "bob")
	try := func(key core.Key, allowed, banned bool, wait time.Duration) core.Decision {
		t.Helper()
		d, err := l.Allow(t.Context(), "login", key, 1)
		if err != nil || d.Allowed != allowed || d.Banned != banned || d.RetryAfter != wait {
			t.Fatalf("allowed %v, banned %v, wait %v, %v", d.Allowed, d.Banned, d.RetryAfter, err)
		}
		return d
	}
	try(eve, true, false, 0)
	try(eve, true, false, 0)
	try(eve, false, false, time.Minute)
	try(eve, false, false, time.Minute)
	if d, err := l.Peek(t.Context(), "login", eve, 1); err != nil || d.Allowed || d.Banned {
		t.Errorf("a look: %+v, %v", d, err)
	}
	d := try(eve, false, true, time.Hour) // the refusal that bans says so already
	if d.Limit != 3 || d.Remaining != 0 || d.Policy != "login" {
		t.Errorf("%+v", d)
	}
	try(bob, true, false, 0)

	c.advance(time.Hour - time.Microsecond)
	for range 5 { // it is not prolonged, and what is refused during it is no strike
		try(eve, false, true, time.Microsecond)
	}
	c.advance(time.Microsecond)
	try(eve, true, false, 0)
	try(eve, true, false, 0)
	try(eve, false, false, time.Minute)
	try(eve, false, false, time.Minute)
	try(eve, false, true, 2*time.Hour)

	c.advance(26 * time.Hour) // forgiven a day after its end
	for range 2 {
		try(eve, true, false, 0)
	}
	for range 2 {
		try(eve, false, false, time.Minute)
	}
	try(eve, false, true, time.Hour)
}

// A banned client is answered with the problem type of its own, by the policy's
// own fields, and with the end of the ban.
func TestBanAnswers(t *testing.T) {
	c := newClock()
	l := limiter(t, c, core.Policy{Name: "api", Rate: "1/m", Strategy: core.MovingWindow{},
		Ban: &core.Ban{After: 1, Within: time.Minute, For: time.Hour}})
	for i, want := range []struct {
		status            int
		retry, limit, has string
	}{
		{200, "", `"api";r=0;t=60`, ""},
		{429, "3600", `"api";r=0;t=60`, core.ProblemAbnormalUsage},
		{429, "3600", `"api";r=0;t=60`, core.ProblemAbnormalUsage},
	} {
		w := serve(l, "192.0.2.1")
		if w.Code != want.status || w.Header().Get("Retry-After") != want.retry || w.Header().Get("RateLimit") != want.limit ||
			w.Header().Get("RateLimit-Policy") != `"api";q=1;w=60` || !strings.Contains(w.Body.String(), want.has) {
			t.Errorf("request %d: %d %v %s", i+1, w.Code, w.Header(), w.Body)
		}
	}
	if w := serve(l, "192.0.2.2"); w.Code != 200 {
		t.Errorf("somebody else gets %d", w.Code)
	}
}

// Where the rate has the client wait even longer than its ban, that is said, and
// that there is a ban all the same.
func TestBanShorterThanTheWait(t *testing.T) {
	c := newClock()
	l := limiter(t, c, core.Policy{Name: "login", Rate: "1/d", Strategy: core.MovingWindow{},
		Ban: &core.Ban{After: 2, Within: time.Hour, For: time.Hour}}, core.Policy{Name: "all", Rate: "1/w", Strategy: core.MovingWindow{}, Mode: core.Annotate})
	for i, banned := range []bool{false, false, true, true} {
		d, err := l.AllowRequest(get("192.0.2.1"))
		if err != nil || d.Banned != banned || !d.Allowed && d.RetryAfter != 24*time.Hour {
			t.Errorf("request %d: %+v, %v", i+1, d, err)
		}
		if body := string(core.Refusal(d).Body); !d.Allowed && strings.Contains(body, core.ProblemAbnormalUsage) != banned {
			t.Errorf("request %d: %s", i+1, body)
		}
	}
	if d, err := l.Allow(t.Context(), "all", job, 1); err != nil || d.Banned {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestBanByHandAndLifted(t *testing.T) {
	c := newClock()
	l := limiter(t, c, banning)
	eve := core.NewKey("user", "eve")
	check := func(allowed bool, wait time.Duration) {
		t.Helper()
		if d, err := l.Peek(t.Context(), "login", eve, 1); err != nil || d.Allowed != allowed || d.RetryAfter != wait || d.Banned == allowed {
			t.Errorf("%+v, %v", d, err)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(true, 0)
	do(l.Ban(t.Context(), "login", eve, 5*time.Minute))
	check(false, 5*time.Minute)
	do(l.Ban(t.Context(), "login", eve, time.Minute))
	check(false, time.Minute)
	do(l.Unban(t.Context(), "login", eve))
	check(true, 0)
	do(l.Ban(t.Context(), "login", eve, time.Minute))
	do(l.Reset(t.Context(), "login", eve))
	check(true, 0)

	for _, d := range []time.Duration{0, -time.Second, 367 * 24 * time.Hour} {
		if err := l.Ban(t.Context(), "login", eve, d); err == nil || !strings.Contains(err.Error(), "1ms to") {
			t.Errorf("%v: %v", d, err)
		}
	}
	other := limiter(t, c, core.Policy{Name: "api", Rate: "1/m"})
	if err := errors.Join(other.Ban(t.Context(), "api", eve, time.Minute), other.Unban(t.Context(), "api", eve)); err == nil ||
		strings.Count(err.Error(), "has no Ban") != 2 {
		t.Errorf("%v", err)
	}
}

// exhausting is a backend that takes until its caller's time is up.
type exhausting struct {
	core.Backend
	up func()
}

func (l exhausting) Settle(context.Context, int64, []core.Ask, []core.Receipt, []int64) error {
	l.up()
	return core.ErrUnavailable
}

// Where the backend is down, and has used up the time, the fallback still refuses
// whom it is told to.
func TestBanByHandReachesTheFallback(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	fallback := memory.New()
	l := configured(t, core.Config{Backend: exhausting{memory.New(), cancel}, Fallback: fallback, Policies: []core.Policy{banning}})
	eve := core.NewKey("user", "eve")
	if err := l.Ban(ctx, "login", eve, time.Hour); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	local := configured(t, core.Config{Backend: fallback, Policies: []core.Policy{banning}})
	if d, err := local.Peek(t.Context(), "login", eve, 1); err != nil || !d.Banned {
		t.Errorf("%+v, %v", d, err)
	}
}

// A ban of a policy that never refuses is a mistake; so are its settings.
func TestBanIsCheckedByNew(t *testing.T) {
	_, err := core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{
		{Name: "soft", Rate: "1/m", Mode: core.Annotate, Ban: banning.Ban},
		{Name: "zero", Rate: "1/m", Ban: &core.Ban{}},
	}})
	for _, part := range []string{`policy "soft": Ban: a policy that does not enforce`, `policy "zero": ban: After 0`, "Within 0s", "For 0s"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
}

// The header fields of admitted requests, and who speaks for the decision, are
// those without a ban.
func TestBanIsSilentUntilItCounts(t *testing.T) {
	c := newClock()
	with := limiter(t, c, core.Policy{Name: "api", Rate: "9/m; 50/h", Strategy: core.MovingWindow{}, Ban: &core.Ban{After: 1, Within: time.Minute, For: time.Hour}})
	without := limiter(t, c, core.Policy{Name: "api", Rate: "9/m; 50/h", Strategy: core.MovingWindow{}})
	for range 9 {
		a, b := serve(with, "192.0.2.1"), serve(without, "192.0.2.1")
		for _, name := range []string{"RateLimit", "RateLimit-Policy"} {
			if a.Header().Get(name) != b.Header().Get(name) || a.Code != 200 {
				t.Errorf("%s: %d %q, without %q", name, a.Code, a.Header().Get(name), b.Header().Get(name))
			}
		}
	}
}

// serve is what a client at that address gets from l over net/http.
func serve(l *core.Limiter, peer string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = peer + ":1234"
	httplimit.New(l)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	return w
}
