package core_test

import (
	"context"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// enter sends a request into l and leaves it there.
func enter(l *core.Limiter, n core.Native) *core.Visit {
	v := new(core.Visit)
	l.Enter(n, 0, v)
	return v
}

// pass sends a request through l; its handler answers with the status.
func pass(l *core.Limiter, n core.Native, status int) bool {
	v := enter(l, n)
	defer v.Leave()
	if v.Pass {
		v.Finish(n, status)
	}
	return v.Pass
}

// remaining is what the policy has left for the client.
func remaining(t *testing.T, l *core.Limiter, n core.Native) int64 {
	t.Helper()
	d, err := l.PeekRequest(n)
	if err != nil {
		t.Fatal(err)
	}
	return d.Remaining
}

// Every strategy gives back what does not count, and while requests run they
// count: a burst of them can not slip through.
func TestOnlyFailuresCount(t *testing.T) {
	for _, strategy := range []core.Strategy{core.FixedWindow{}, core.BucketedWindow{}, core.SlidingWindow{}, core.MovingWindow{}, core.GCRA{}} {
		t.Run(strategy.Name(), func(t *testing.T) {
			l := limiter(t, newClock(), core.Policy{Name: "login", Rate: "3/d", Strategy: strategy, CountIf: core.OnStatus(401)})
			n := get("192.0.2.1")
			for range 20 {
				if !pass(l, n, 200) {
					t.Fatal("what does not count refuses")
				}
			}
			if left := remaining(t, l, n); left != 3 {
				t.Errorf("%d left", left)
			}
			var running []*core.Visit
			for range 3 {
				running = append(running, enter(l, n))
			}
			if pass(l, n, 200) {
				t.Error("a fourth at once is let through")
			}
			for i, v := range running {
				v.Finish(n, []int{401, 200, 401}[i])
				v.Leave()
			}
			if left := remaining(t, l, n); left != 1 {
				t.Errorf("%d left", left)
			}
			pass(l, n, 401)
			if pass(l, n, 200) {
				t.Error("a fourth failure is let through")
			}
		})
	}
}

// Who hangs up gets nothing back, and neither does a request without a response.
func TestNothingIsGivenBackToWhoLeaves(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "login", Rate: "5/d", CountIf: core.OnStatus(401)})
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequest("GET", "/", nil).WithContext(ctx)
	gone := httplimit.Request(r)
	v := enter(l, gone)
	cancel()
	v.Finish(gone, 200)
	v.Leave()
	enter(l, gone).Leave() // as when the handler panics
	n := get("192.0.2.1")
	if left := remaining(t, l, n); left != 3 {
		t.Errorf("%d left", left)
	}
	v = enter(l, n) // twice is once
	v.Finish(n, 200)
	v.Finish(n, 200)
	v.Leave()
	if left := remaining(t, l, n); left != 3 {
		t.Errorf("%d left", left)
	}
}

// Who hangs up has had no answer, and nothing is forgotten for one: a handler
// whose own work ends with the client often returns without a word, and the status
// then is 200.
func TestWhoLeavesIsNotForgiven(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "login", Rate: "5/d", ResetIf: core.OnStatus(2)})
	ctx, cancel := context.WithCancel(t.Context())
	gone := httplimit.Request(httptest.NewRequest("GET", "/", nil).WithContext(ctx))
	v := enter(l, gone)
	cancel()
	v.Finish(gone, 200)
	v.Leave()
	if left := remaining(t, l, get("192.0.2.1")); left != 4 {
		t.Errorf("%d left", left)
	}
}

// A thousand who abort at once are counted all the same.
func TestAbortsBuyNothing(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "login", Rate: "10/d", Strategy: core.MovingWindow{}, CountIf: core.OnStatus(401)})
	passed := make(chan bool, 1000)
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			r := httptest.NewRequest("GET", "/", nil).WithContext(ctx)
			n := httplimit.Request(r)
			v := enter(l, n)
			cancel()
			if v.Pass {
				v.Finish(n, 200)
			}
			v.Leave()
			passed <- v.Pass
		})
	}
	wg.Wait()
	close(passed)
	n := 0
	for ok := range passed {
		if ok {
			n++
		}
	}
	if n != 10 {
		t.Errorf("%d of 1000 passed", n)
	}
}

// A request that ends after its window has passed leaves the new one alone.
func TestAResponseTwoWindowsLater(t *testing.T) {
	c := newClock()
	l := limiter(t, c, core.Policy{Name: "login", Rate: "3/m", Strategy: core.FixedWindow{Align: core.Clock}, CountIf: core.OnStatus(401)})
	n := get("192.0.2.1")
	slow := enter(l, n)
	c.advance(2 * time.Minute)
	pass(l, n, 401)
	slow.Finish(n, 200)
	slow.Leave()
	if left := remaining(t, l, n); left != 2 {
		t.Errorf("%d left", left)
	}
}

// A login forgets the failures before it, and the ban that they led to is struck
// by failures, not by refusals.
func TestFailuresLeadToABanAndSuccessForgetsThem(t *testing.T) {
	c := newClock()
	l := limiter(t, c, core.Policy{Name: "login", Rate: "100/d", CountIf: core.OnStatus(401, 403), ResetIf: core.OnStatus(2),
		Ban: &core.Ban{After: 3, Within: time.Hour, For: 24 * time.Hour, Failures: true}})
	n := get("192.0.2.1")
	for _, status := range []int{401, 403, 200, 401, 401, 500, 404} {
		if !pass(l, n, status) {
			t.Fatalf("refused before %d", status)
		}
	}
	if left := remaining(t, l, n); left != 98 {
		t.Errorf("%d left", left)
	}
	if !pass(l, n, 401) || pass(l, n, 200) {
		t.Error("the third failure in a row did not lead to a ban")
	}
	if d, err := l.PeekRequest(n); err != nil || !d.Banned || d.RetryAfter != 24*time.Hour {
		t.Errorf("%+v, %v", d, err)
	}
}

func fieldText(d core.Decision) (text string) {
	for name, value := range d.Header() {
		text += name + ": " + value + "\n"
	}
	return text
}

// The estimate is settled once: less is given back, more is owed.
func TestReservation(t *testing.T) {
	for _, strategy := range []core.Strategy{core.FixedWindow{}, core.BucketedWindow{}, core.SlidingWindow{}, core.MovingWindow{}, core.GCRA{}} {
		t.Run(strategy.Name(), func(t *testing.T) {
			l := limiter(t, newClock(), core.Policy{Name: "tokens", Rate: "100/d", Strategy: strategy, Cost: 40, Reserve: true})
			n := get("192.0.2.1")
			left := func(want int64) {
				t.Helper()
				if got := remaining(t, l, n); got != want {
					t.Errorf("%d left, not %d", got, want)
				}
			}
			do := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			reserve := func() *core.Reservation {
				t.Helper()
				v := enter(l, n)
				v.Finish(n, 200)
				v.Leave()
				if !v.Pass || v.Reservation == nil {
					t.Fatalf("%+v", v)
				}
				return v.Reservation
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // the client has gone
			r := reserve()
			left(60)
			do(r.Commit(ctx, 25))
			left(75)
			do(r.Commit(ctx, 0))
			do(r.Cancel(ctx))
			left(75)
			do(reserve().Cancel(ctx))
			left(75)
			reserve() // never settled
			left(35)
			if err := r.Commit(ctx, -1); err == nil {
				t.Error("a negative cost is settled")
			}
			do(l.Reset(t.Context(), "tokens", keyOf("192.0.2.1")))
			do(reserve().Commit(ctx, 130))
			left(0)
			if v := enter(l, n); v.Pass || v.Reservation != nil {
				t.Errorf("%+v", v)
			}
			var none *core.Reservation
			do(none.Commit(ctx, 5))
			do(none.Cancel(ctx))
		})
	}
}

// A reservation that outlives its request is still that of the same client: some
// frameworks use the memory behind a key again.
func TestReservationKeepsNoMemoryOfARequest(t *testing.T) {
	name := []byte("alice")
	l := limiter(t, newClock(), core.Policy{Name: "tokens", Rate: "100/d", Strategy: core.MovingWindow{}, Cost: 40, Reserve: true,
		Hooks: named{name: &name}})
	n := get("192.0.2.1")
	v := enter(l, n)
	copy(name, "bobby")
	enter(l, n)
	if err := v.Reservation.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := remaining(t, l, n); left != 60 {
		t.Errorf("%d left for bobby", left)
	}
	copy(name, "alice")
	if left := remaining(t, l, n); left != 100 {
		t.Errorf("%d left for alice", left)
	}
}

// named counts by a name that lies in memory of a request.
type named struct {
	core.Base
	name *[]byte
}

func (h named) KeyExtra(_ core.Request, k core.Key) core.Key {
	return k.With("name", unsafe.String(&(*h.name)[0], len(*h.name)))
}

// Outside of requests too; what is refused has nothing to settle.
func TestReserveOutsideOfRequests(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "tokens", Rate: "100/h; 1000/d", Strategy: core.MovingWindow{}},
		core.Policy{Name: "jobs", Rate: "2/m", Strategy: core.InFlight{}})
	d, r, err := l.Reserve(t.Context(), "tokens", job, 90)
	if err != nil || !d.Allowed || r == nil {
		t.Fatalf("%+v, %v, %v", d, r, err)
	}
	if d, none, err := l.Reserve(t.Context(), "tokens", job, 20); err != nil || d.Allowed || none != nil {
		t.Errorf("%+v, %v, %v", d, none, err)
	}
	if err := r.Commit(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	var left []int64
	d, _ = l.Peek(t.Context(), "tokens", job, 0)
	for e := range d.Entries() {
		left = append(left, e.Remaining)
	}
	if left[0] != 90 || left[1] != 990 {
		t.Errorf("%d left", left)
	}
	var running []*core.Reservation
	for range 2 {
		_, r, _ := l.Reserve(t.Context(), "jobs", job, 1)
		running = append(running, r)
	}
	if d, r, err := l.Reserve(t.Context(), "jobs", job, 1); err != nil || d.Allowed || r != nil {
		t.Errorf("%+v, %v", d, err)
	}
	if err := running[0].Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d, _, err := l.Reserve(t.Context(), "jobs", job, 1); err != nil || !d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
}

// A request is settled in one call, however many policies and rates there are.
func TestSettlingIsOneCall(t *testing.T) {
	b := &counted{Backend: memory.New()}
	l := configured(t, core.Config{Backend: b, Policies: []core.Policy{
		{Name: "a", Rate: "5/m; 9/d", CountIf: core.OnStatus(4)},
		{Name: "b", Rate: "5/m", Strategy: core.InFlight{}},
		{Name: "c", Rate: "5/m", CountIf: core.OnStatus(5), Ban: &core.Ban{After: 3, Within: time.Hour, For: time.Hour, Failures: true}},
		{Name: "d", Rate: "5/m"},
	}})
	n := get("192.0.2.1")
	if !pass(l, n, 200) || b.takes != 1 || b.refund != 1 {
		t.Errorf("%d decisions, %d settlements", b.takes, b.refund)
	}
}

// While the backend is down the fallback has charged, and is settled.
func TestTheFallbackIsSettled(t *testing.T) {
	b := &counted{Backend: memory.New(), broken: core.ErrUnavailable}
	l := configured(t, core.Config{Backend: b, Fallback: memory.New(), Policies: []core.Policy{
		{Name: "login", Rate: "2/d", CountIf: core.OnStatus(401)}, {Name: "tokens", Rate: "100/d", Cost: 50, Reserve: true}}})
	n := get("192.0.2.1")
	for i := range 6 {
		v := enter(l, n)
		if !v.Pass || !v.Decision.Degraded {
			t.Fatalf("request %d: %+v", i, v.Decision)
		}
		if err := v.Reservation.Commit(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		v.Finish(n, 200)
		v.Leave()
	}
	if b.refund != 0 {
		t.Errorf("the dead backend is asked %d times", b.refund)
	}
}

// A function that panics counts the request, and the next one is served.
func TestCountIfPanics(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "login", Rate: "2/d",
		CountIf: func(r core.Request, status int) bool { panic("oops") }})
	n := get("192.0.2.1")
	if passed := []bool{pass(l, n, 200), pass(l, n, 200), pass(l, n, 200)}; !slices.Equal(passed, []bool{true, true, false}) {
		t.Error(passed)
	}
}

func TestAfterIsCheckedByNew(t *testing.T) {
	yes := core.OnStatus(200)
	_, err := core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{
		{Name: "a", Rate: "1/m", Reserve: true, CountIf: yes},
		{Name: "b", Rate: "1/m", Strategy: core.InFlight{}, CountIf: yes},
		{Name: "c", Rate: "1/m", Strategy: core.InFlight{}, CountDenied: true},
		{Name: "d", Rate: "1/m", Ban: &core.Ban{After: 1, Within: time.Hour, For: time.Hour, Failures: true}},
		{Name: "e", Rate: "1/m", Mode: core.Shadow, CountIf: yes},
		{Name: "f", Rate: "1/m", Candidate: &core.Candidate{Rate: "2/m"}, Reserve: true},
		{Name: "g", Rate: "1/m", Strategy: core.InFlight{}, ResetIf: yes},
		{Name: "h", Rate: "1/m", Candidate: &core.Candidate{Strategy: &core.InFlight{}}},
	}})
	for _, part := range []string{`"a": Reserve and CountIf`, `"b": InFlight gives back`, `"c": InFlight counts what runs`,
		`"d": Ban.Failures: say what`, `"e": a shadow`, `"f": a shadow`,
		`"g": InFlight: ResetIf`, `"h": Candidate: InFlight`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
	for _, statuses := range [][]int{{0}, {6}, {99}, {600}, {-1}, {401, 0}, nil} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("OnStatus(%d)", statuses)
				}
			}()
			core.OnStatus(statuses...)
		}()
	}
	if f := core.OnStatus(4, 503); !f(nil, 404) || !f(nil, 503) || f(nil, 500) || f(nil, 200) {
		t.Error("classes and statuses are mixed up")
	}
}

// keyOf is the key of a client's address.
func keyOf(addr string) core.Key {
	a := netip.MustParseAddr(addr)
	return core.KeyOfPrefix(netip.PrefixFrom(a, a.BitLen()))
}
