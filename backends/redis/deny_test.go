package redislimit

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// remembering is a backend on one server with such a deny cache.
func remembering(t testing.TB, s *servers.Server, size int, age time.Duration) *Backend {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), PoolSize: 64})
	t.Cleanup(func() { c.Close() })
	return must(t, c, Options{Timeout: patient, DenyCache: size, DenyFor: age})
}

func limiter(t testing.TB, b core.Backend, policies ...core.Policy) *core.Limiter {
	t.Helper()
	l, err := core.New(core.Config{Backend: b, Policies: policies})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func allow(t testing.TB, l *core.Limiter, policy string, key core.Key, cost int64) core.Decision {
	t.Helper()
	d, err := l.Allow(background(), policy, key, cost)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// exhaust asks until it is refused.
func exhaust(t testing.TB, l *core.Limiter, policy string, key core.Key, cost int64) core.Decision {
	t.Helper()
	for {
		if d := allow(t, l, policy, key, cost); !d.Allowed {
			return d
		}
	}
}

// A key that was refused is refused without a command, and the decision is the
// one that the server would have made.
func TestDeniedKeysCostNoCommand(t *testing.T) {
	s := servers.Redis(t)
	b, asked := remembering(t, s, 0, time.Hour), remembering(t, s, -1, 0)
	for _, strategy := range append(five, core.GCRA{Burst: 3}) {
		for _, rate := range []string{"7/h", "7/h; 1000/d", "7/d; 100/h", "0/h"} {
			policy := core.Policy{Name: "p" + strconv.FormatInt(fresh.Add(1), 10), Rate: rate, Strategy: strategy}
			l, other := limiter(t, b, policy), limiter(t, asked, policy)
			key := core.NewKey("k", "v")
			exhaust(t, l, policy.Name, key, 1)
			s.Do("CONFIG", "RESETSTAT")
			for range 200 {
				if d := allow(t, l, policy.Name, key, 1); d.Allowed || !d.Limited {
					t.Fatalf("%+v", d)
				}
			}
			got := allow(t, l, policy.Name, key, 1)
			if n := commands(t, s, "evalsha", "eval"); n != 0 {
				t.Errorf("%s %s: 201 refusals were %d commands", strategy.Name(), rate, n)
			}
			want := allow(t, other, policy.Name, key, 1)
			if commands(t, s, "evalsha", "eval") == 0 {
				t.Error("switched off, the cache refuses all the same")
			}
			if got.Policy != want.Policy || got.Limit != want.Limit || got.Remaining != want.Remaining ||
				!soonAfter(want.RetryAfter, got.RetryAfter) || !soonAfter(want.NextAfter, got.NextAfter) || !soonAfter(want.ResetAfter, got.ResetAfter) {
				t.Errorf("%s %s: remembered %+v, the server says %+v", strategy.Name(), rate, got, want)
			}
			fields := map[string]string{}
			for name, value := range want.Header() {
				fields[name] = value
			}
			for name, value := range got.Header() {
				for item := range strings.SplitSeq(value, ", ") { // of several rates, those that are known
					item, _, _ = strings.Cut(item, ";t=")
					if name != "Retry-After" && !strings.Contains(fields[name], item) {
						t.Errorf("%s %s: %s is %q, the server would have it %q", strategy.Name(), rate, name, value, fields[name])
					}
				}
			}
		}
	}
}

// soonAfter: the same figure, a little later at most.
func soonAfter(later, earlier time.Duration) bool {
	return later == earlier || later < earlier && earlier-later < 10*time.Second
}

// Through a middleware, for one policy and for several.
func TestDeniedRequestsCostNoCommand(t *testing.T) {
	s := servers.Redis(t)
	for name, policies := range map[string][]core.Policy{
		"one":     {{Name: "one", Rate: "3/h"}},
		"several": {{Name: "wide", Rate: "1000/h"}, {Name: "narrow", Rate: "3/h; 500/d", Key: core.ByHeader("X-Who")}},
		"hooks":   {{Name: "hooked", Rate: "3/h", Hooks: extra{}}},
		"cost":    {{Name: "dear", Rate: "30/h", Cost: 10}},
	} {
		b := remembering(t, s, 0, time.Hour)
		h := httplimit.New(limiter(t, b, policies...))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		get := func() *http.Response {
			w := httptest.NewRecorder()
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("X-Who", name)
			h.ServeHTTP(w, r)
			return w.Result()
		}
		for i := range 4 {
			if r := get(); (r.StatusCode == 200) != (i < 3) {
				t.Fatalf("%s: request %d: %s", name, i, r.Status)
			}
		}
		s.Do("CONFIG", "RESETSTAT")
		for range 50 {
			r := get()
			if r.StatusCode != 429 || r.Header.Get("Retry-After") == "" || !strings.Contains(r.Header.Get("RateLimit"), ";r=0;t=") {
				t.Fatalf("%s: %s %v", name, r.Status, r.Header)
			}
		}
		if n := commands(t, s, "evalsha", "eval"); n != 0 {
			t.Errorf("%s: 50 refusals were %d commands", name, n)
		}
	}
}

type extra struct{ core.Base }

func (x extra) KeyExtra(r core.Request, k core.Key) core.Key {
	return x.Base.KeyExtra(r, k).With("x", "y")
}

// What must reach the server does, refused or not.
func TestNotRefusedFromMemory(t *testing.T) {
	s := servers.Redis(t)
	b := remembering(t, s, 0, time.Hour)
	const times = 20
	for name, policies := range map[string][]core.Policy{
		"CountDenied":        {{Name: "counting", Rate: "3/h", CountDenied: true}},
		"annotating":         {{Name: "annotating", Rate: "3/h", Mode: core.Annotate}},
		"beside CountDenied": {{Name: "narrow", Rate: "3/h"}, {Name: "counted", Rate: "1000/h", CountDenied: true}},
		"beside annotating":  {{Name: "narrow2", Rate: "3/h"}, {Name: "annotated", Rate: "1000/h", Mode: core.Annotate}},
	} {
		h := httplimit.New(limiter(t, b, policies...))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		get := func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) }
		for range 5 {
			get()
		}
		s.Do("CONFIG", "RESETSTAT")
		for range times {
			get()
		}
		if n := commands(t, s, "evalsha"); n != times {
			t.Errorf("%s: %d requests were %d commands", name, times, n)
		}
	}
}

// A cheaper request, a reset, a refund, another limit: none is held back.
func TestDenyCacheHoldsNobodyBack(t *testing.T) {
	s := servers.Redis(t)
	b := remembering(t, s, 0, time.Hour)
	policy := core.Policy{Name: "p", Rate: "10/h", Strategy: core.FixedWindow{}}
	l := limiter(t, b, policy)
	key := core.NewKey("k", "v")
	if d := exhaust(t, l, "p", key, 4); d.Remaining != 2 {
		t.Fatalf("%+v", d)
	}
	if d := allow(t, l, "p", key, 2); !d.Allowed {
		t.Error("a cheaper request is held back")
	}
	if d := allow(t, l, "p", key, 4); d.Remaining != 0 {
		t.Errorf("after another charge %d remain, the answer says %d", 0, d.Remaining)
	}
	policy.Rate = "20/h"
	if d := allow(t, limiter(t, b, policy), "p", key, 4); !d.Allowed {
		t.Error("a higher limit is held back")
	}
	if err := l.Reset(background(), "p", key); err != nil {
		t.Fatal(err)
	}
	if d := allow(t, l, "p", key, 4); !d.Allowed {
		t.Error("what was reset is held back")
	}

	a := asking(t, core.GCRA{}, 1, time.Hour)
	v, err := take(b, 0, a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := take(b, 0, a); err != nil {
		t.Fatal(err)
	}
	if which, _ := b.Refuse([]core.Ask{a}); which != 0 {
		t.Error("the refusal was not remembered")
	}
	if err := b.Settle(background(), 0, []core.Ask{a}, []core.Receipt{v.Receipt}, []int64{-1}); err != nil {
		t.Fatal(err)
	}
	if which, _ := b.Refuse([]core.Ask{a}); which != -1 {
		t.Error("what was refunded is held back")
	}
}

// What another process resets is noticed after Options.DenyFor.
func TestResetElsewhereIsNoticed(t *testing.T) {
	s := servers.Redis(t)
	here, there := remembering(t, s, 0, 300*time.Millisecond), remembering(t, s, 0, 0)
	policy := core.Policy{Name: "p", Rate: "3/h"}
	l, elsewhere := limiter(t, here, policy), limiter(t, there, policy)
	key := core.NewKey("k", "v")
	exhaust(t, l, "p", key, 1)
	if err := elsewhere.Reset(background(), "p", key); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	eventually(t, func() bool { return allow(t, l, "p", key, 1).Allowed })
	if d := time.Since(begun); d > 300*time.Millisecond+within {
		t.Errorf("it took %v", d)
	}
}

// Explicit instants always go to the server.
func TestExplicitInstantsAreNotRemembered(t *testing.T) {
	b := on(t, shared.single())
	a := asking(t, core.GCRA{}, 1, time.Hour)
	for range 3 {
		if _, err := take(b, 1_700_000_000_000_000, a); err != nil {
			t.Fatal(err)
		}
	}
	if which, _ := b.Refuse([]core.Ask{a}); which != -1 {
		t.Error("a refusal at an explicit instant was remembered")
	}
	if err := b.Reset(background(), a.Cell); err != nil {
		t.Fatal(err)
	}
}

// Waiting exactly as long as one is told is enough, from memory as well.
func TestPromiseFromMemory(t *testing.T) {
	b := remembering(t, shared.single(), 0, time.Hour)
	for _, strategy := range five {
		name := "p" + strconv.FormatInt(fresh.Add(1), 10)
		l := limiter(t, b, core.Policy{Name: name, Rates: core.Rates{{Limit: 2, Window: 400 * time.Millisecond}}, Strategy: strategy})
		key := core.NewKey("k", name)
		exhaust(t, l, name, key, 1)
		d := allow(t, l, name, key, 1)
		if d.Allowed {
			continue // the machine was so busy that the window has passed
		}
		<-time.After(d.RetryAfter)
		if d := allow(t, l, name, key, 1); !d.Allowed {
			t.Errorf("%s: refused %v before its time", strategy.Name(), d.RetryAfter)
		}
	}
}

// A flood of denied keys takes the memory of the table and no more.
func TestFault_G3(t *testing.T) {
	s := servers.Redis(t)
	b := remembering(t, s, 1024, time.Hour)
	l := limiter(t, b, core.Policy{Name: "p", Rate: "1/h", Strategy: core.FixedWindow{}})
	flood := func(from, to int64) {
		var next atomic.Int64
		next.Store(from)
		crowd(16, func() bool {
			i := next.Add(1)
			key := core.NewKey("k", strconv.FormatInt(i, 10))
			for range 2 {
				if _, err := l.Allow(background(), "p", key, 1); err != nil {
					t.Error(err)
				}
			}
			return i < to
		})
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	flood(0, 4000) // more than there is room for
	before := heap()
	flood(10_000, 40_000)
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("30,000 more denied keys took %d bytes", grown)
	}
	key := core.NewKey("k", "last")
	exhaust(t, l, "p", key, 1)
	s.Do("CONFIG", "RESETSTAT")
	allow(t, l, "p", key, 1)
	if n := commands(t, s, "evalsha"); n != 0 {
		t.Error("after the flood nothing is remembered any more")
	}
	s.Do("FLUSHALL")
}

// A key that is denied stays so while Redis is away, for as long as it was told.
func TestDeniedWhileRedisIsAway(t *testing.T) {
	s := servers.Redis(t)
	c := plainClient(t, s.Addr())
	l := limiter(t, must(t, c, Options{DenyFor: time.Hour}), core.Policy{Name: "p", Rate: "3/h"})
	key := core.NewKey("k", "v")
	for {
		if d, err := l.Allow(background(), "p", key, 1); err == nil && !d.Allowed {
			break
		}
	}
	s.Kill()
	for range 10 {
		if d := allow(t, l, "p", key, 1); d.Allowed || d.Degraded {
			t.Errorf("%+v", d)
		}
	}
	if d := allow(t, l, "p", core.NewKey("k", "w"), 1); !d.Degraded {
		t.Errorf("another key: %+v", d)
	}
}

// One key that was denied, again and again, through the Limiter.
func BenchmarkDenied(b *testing.B) {
	backend := remembering(b, shared.single(), 0, time.Hour)
	for name, rate := range map[string]string{"one rate": "100/h", "two rates": "100/h; 1000/d"} {
		policy := "p" + strconv.FormatInt(fresh.Add(1), 10)
		l := limiter(b, backend, core.Policy{Name: policy, Rate: rate})
		key := core.KeyOf(core.KindUser, "", "somebody")
		exhaust(b, l, policy, key, 1)
		for _, procs := range []int{1, 2} {
			b.Run(name+" "+strconv.Itoa(procs), func(b *testing.B) {
				b.ReportAllocs()
				shared.single().Do("CONFIG", "RESETSTAT")
				b.SetParallelism(1)
				if procs == 1 {
					for b.Loop() {
						_, _ = l.Allow(context.Background(), policy, key, 1)
					}
				} else {
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							_, _ = l.Allow(context.Background(), policy, key, 1)
						}
					})
				}
			})
		}
	}
}
