// Package after is the code of the pages on what happens beside and after a
// decision.
package after

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// region reserve

// tokens charges each request 400 until it is known what it has really cost.
var tokens = core.Policy{Name: "tokens", Rate: "1000/m", Cost: 400, Reserve: true}

func answer(w http.ResponseWriter, r *http.Request) {
	made := int64(0)
	defer func() { httplimit.Reservation(r).Commit(r.Context(), made) }()
	for made < 25 { // as long as it takes
		made++
	}
}

// endregion

// region count

// logins lets everybody in who knows the password, as often as he likes.
var logins = core.Policy{Name: "login", Rate: "5/15m", By: "ip+fold(post:username)",
	CountIf: core.OnStatus(401, 403), // what failed
	ResetIf: core.OnStatus(200),      // forgets it
}

// pages leaves alone what has not changed; the function may also ask the request.
var pages = core.Policy{Name: "pages", Rate: "100/m",
	CountIf: func(r core.Request, status int) bool { return status != http.StatusNotModified }}

// endregion

// region inflight

// exports are three at once of each user. None takes longer than ten minutes.
var exports = core.Policy{Name: "exports", Rate: "3/10m", By: "user", Strategy: core.InFlight{}}

// endregion

// region ban

// api bans for an hour who is refused 100 times within ten minutes; then for two
// hours, four, up to a day. After a day without a ban the next is of an hour again.
var api = core.Policy{Name: "api", Rate: "100/m",
	Ban: &core.Ban{After: 100, Within: 10 * time.Minute, For: time.Hour, Max: 24 * time.Hour}}

// endregion

// region candidate

// stricter tries another rate and another way to count, for a tenth of the clients.
var stricter = core.Policy{Name: "api", Rate: "100/m",
	Candidate: &core.Candidate{Rate: "60/m", Strategy: core.MovingWindow{}, Share: 10}}

// planned would be new: it is counted, and enforced for nobody.
var planned = core.Policy{Name: "search", Rate: "10/m", Mode: core.Shadow}

// endregion

// limiter makes a Limiter of the policies on a clock that stands still.
func limiter(c core.Config, policies ...core.Policy) *core.Limiter {
	c.Backend, c.Policies = memory.New(), policies
	c.User = func(r core.Request) string { return r.Header("X-User") }
	c.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	l, err := core.New(c)
	if err != nil {
		panic(err)
	}
	return l
}

// send sends n requests of one client through l, whose handler answers with the
// status, and returns the last status.
func send(l *core.Limiter, n, status int) (got int) {
	h := httplimit.New(l)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))
	for range n {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/", nil))
		got = w.Code
	}
	return got
}

func Example_reserve() {
	l := limiter(core.Config{}, tokens)
	httplimit.New(l)(http.HandlerFunc(answer)).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	d, err := l.PeekRequest(httplimit.Request(httptest.NewRequest("GET", "/", nil)))
	fmt.Println(d.Remaining, err)
	// Output: 975 <nil>
}

func Example_outside() {
	l := limiter(core.Config{}, tokens, exports)
	ctx := context.Background()
	// region outside
	bob := core.KeyOf(core.KindUser, "", "bob")
	d, run, err := l.Reserve(ctx, "exports", bob, 1)
	if err != nil || !d.Allowed {
		return // three of his run already
	}
	defer run.Cancel(ctx) // it runs no longer
	// endregion
	fmt.Println(d.Remaining)
	// Output: 2
}

func Example_count() {
	l := limiter(core.Config{}, logins, pages)
	fmt.Println(send(l, 50, 200), send(l, 5, 401), send(l, 1, 401))
	// Output: 200 401 429
}

func Example_ban() {
	l := limiter(core.Config{}, api)
	fmt.Println(send(l, 100, 200), send(l, 100, 200))
	ctx := context.Background()
	// region byhand
	eve := core.KeyOfPrefix(netip.MustParsePrefix("192.0.2.1/32")) // the key of ByIP
	d, err := l.Peek(ctx, "api", eve, 1)
	fmt.Println(d.Banned, d.RetryAfter, err) // true 1h0m0s
	err = l.Unban(ctx, "api", eve)           // lifted, and those before are forgiven
	fmt.Println(err)
	err = l.Ban(ctx, "api", eve, 7*24*time.Hour) // by hand, for a week
	fmt.Println(err)
	err = l.Reset(ctx, "api", eve) // all is forgotten, the ban too
	fmt.Println(err)
	// endregion
	// Output:
	// 200 429
	// true 1h0m0s <nil>
	// <nil>
	// <nil>
	// <nil>
}

func Example_lists() {
	// region lists
	var monitors, abusers core.List
	l := limiter(core.Config{AllowList: &monitors, DenyList: &abusers}, api)
	err := abusers.Add(core.Entries{ // at any time, from any goroutine
		Prefixes: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		Keys:     []core.Key{core.KeyOf(core.KindUser, "", "mallory")},
	})
	// endregion
	fmt.Println(err, send(l, 1, 200))
	err = monitors.Replace(core.Entries{Prefixes: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}})
	fmt.Println(err, send(l, 500, 200))
	// Output:
	// <nil> 403
	// <nil> 200
}

func Example_trial() {
	p := stricter
	p.Candidate.Share = 0
	l := limiter(core.Config{}, p, planned)
	send(l, 80, 200)
	// region trial
	t, err := l.Trial("api")
	fmt.Println(t.Agreed, t.NewlyRefused, t.NewlyAllowed, err) // 60 20 0
	// endregion
	// Output: 60 20 0 <nil>
}

// region observer

// A meter counts what an application wants to know.
type meter struct{ refused, banned, failed int }

func (m *meter) Observe(e core.Event) {
	switch e.Kind {
	case core.EventRefused:
		m.refused++
	case core.EventBanned:
		m.banned++
	case core.EventFailed:
		m.failed++
	}
}

// endregion

func Example_observer() {
	m := new(meter)
	l := limiter(core.Config{Observer: m}, api)
	send(l, 250, 200)
	fmt.Println(m.refused, m.banned, m.failed)

	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "identity" {
			return slog.Attr{}
		}
		return a
	}}))
	l = limiter(core.Config{Observer: core.NewLogObserver(log)}, core.Policy{Name: "api", Rate: "1/d", Strategy: core.MovingWindow{}})
	send(l, 1000, 200)
	// Output:
	// 150 1 0
	// level=INFO msg="request refused" item=api limit=1 annotated=false banned=false retry_after=24h0m0s policy=api
}

func Example_waiter() {
	// region waiter
	l, err := core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{
		{Name: "mails", Rate: "100/s", Strategy: core.GCRA{Burst: 1}},
	}})
	if err != nil {
		panic(err)
	}
	mails, err := l.Waiter("mails") // once, when the program starts
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for range 3 {
		if err := mails.Wait(ctx, core.NewKey("host", "mx.example.com"), 1); err != nil {
			fmt.Println(err) // the turn is later than ctx allows: known at once
		}
	}
	// endregion
	// Output:
}
