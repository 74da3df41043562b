package ancestors

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// region usage

// Usage is what get_usage answers.
type Usage struct {
	Count, Limit int64
	ShouldLimit  bool
	TimeLeft     time.Duration
}

func usage(l *core.Limiter, r *http.Request) (Usage, error) {
	d, err := l.PeekRequest(httplimit.Request(r)) // AllowRequest: increment=True
	return Usage{
		Count:       d.Limit - d.Remaining,
		Limit:       d.Limit,
		ShouldLimit: !d.Allowed,
		TimeLeft:    d.ResetAfter,
	}, err
}

// endregion

func TestDjangoUsage(t *testing.T) {
	s := open(t, core.Policy{Name: "login", Rate: "5/m", Strategy: core.FixedWindow{}})
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "192.0.2.1:1"
	s.play(`20s GET / -> 200 x4`)
	for range 3 { // looking charges nothing
		if u, err := usage(s.Limiter, r); err != nil || u != (Usage{4, 5, false, 40 * time.Second}) {
			t.Fatal(u, err)
		}
	}
	s.play(`20s GET / -> 200`)
	if u, err := usage(s.Limiter, r); err != nil || u != (Usage{5, 5, true, 40 * time.Second}) {
		t.Fatal(u, err) // the ancestor would say: not limited
	}
}

func TestDjangoConditionalLimit(t *testing.T) {
	failures := open(t, core.Policy{Name: "failures", Rate: "3/15m"}).Limiter
	// region conditional
	login := func(w http.ResponseWriter, r *http.Request) {
		asked := httplimit.Request(r)
		if d, err := failures.PeekRequest(asked); err != nil || !d.Allowed {
			http.Error(w, "too many failures", http.StatusTooManyRequests)
			return
		}
		if r.PostFormValue("password") != "correct" {
			failures.AllowRequest(asked) // only failures count
			http.Error(w, "wrong", http.StatusForbidden)
			return
		}
		failures.ResetRequest(asked)
	}
	// endregion
	s := &site{t: t, page: http.HandlerFunc(login)}
	s.play(`
		0s POST / username=bob password=guess -> 403 x2
		0s POST / username=bob password=correct -> 200
		0s POST / username=bob password=guess -> 403 x3
		0s POST / username=bob password=correct -> 429
		0s POST / username=eve password=correct from:192.0.2.2 -> 200 x9`)
}

func TestDjangoOutsideOfARequest(t *testing.T) {
	l := open(t, core.Policy{Name: "mail", Rate: "2/d", By: "user"}).Limiter
	ctx := t.Context()
	// region outside
	bob := core.KeyOf(core.KindUser, "", "bob")
	d, err := l.Allow(ctx, "mail", bob, 1) // charges one unit if it is admitted
	look, _ := l.Peek(ctx, "mail", bob, 1) // charges nothing
	_ = l.Reset(ctx, "mail", bob)          // forgets what bob has used
	// endregion
	if err != nil || !d.Allowed || look.Remaining != 1 {
		t.Fatal(d, err, look)
	}
	if d, _ := l.Peek(ctx, "mail", bob, 1); d.Remaining != 2 {
		t.Error("not reset")
	}
}

func TestDjangoUsageNeedsNoMiddleware(t *testing.T) {
	l, err := core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{{Name: "a", Rate: "none"}}})
	if err != nil {
		t.Fatal(err)
	}
	if u, err := usage(l, httptest.NewRequest("GET", "/", nil)); err != nil || u != (Usage{}) {
		t.Error(u, err) // the ancestor answers None
	}
}
