package redislimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// An app is a limited application as its clients see it.
type app struct {
	*core.Limiter
	handler http.Handler
}

func newApp(t *testing.T, c core.Config) *app {
	t.Helper()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	l, err := core.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &app{l, httplimit.New(l)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))}
}

// answer is status and Retry-After of a request.
func (a *app) answer(method, client string) string {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "/", nil)
	r.RemoteAddr = client + ":1"
	a.handler.ServeHTTP(w, r)
	return strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Header().Get("Retry-After")))
}

// decide is a decision outside of requests.
func (a *app) decide(policy string, k core.Key) (core.Decision, error) {
	return a.Allow(background(), policy, k, 1)
}

// exactAgain is S4: how long it takes until the store itself decides.
func (a *app) exactAgain(t *testing.T, policy string, k core.Key) core.Decision {
	t.Helper()
	start := time.Now()
	for {
		d, err := a.decide(policy, k)
		if err == nil && !d.Degraded {
			t.Logf("exact again after %v", time.Since(start))
			return d
		}
		if time.Since(start) > time.Second+within {
			t.Fatalf("after %v still %v, %v", time.Since(start), d.Cause, err)
		}
	}
}

// Redis is killed under a login that is closed, an API that falls back, and
// metrics that are open, and comes back: S3 and S4.
func TestFault_A2Policies(t *testing.T) {
	s := servers.Redis(t)
	for _, strategy := range five {
		t.Run(strategy.Name(), func(t *testing.T) {
			const n, instances = 40, 4
			a := newApp(t, core.Config{Backend: must(t, plainClient(t, s.Addr()), Options{}), Instances: instances, Policies: []core.Policy{
				{Name: "api", Rate: "40/h", Strategy: strategy},
				{Name: "login", Rate: "20/h", Strategy: strategy, Methods: []string{"POST"}, OnFailure: core.FailClosed},
				{Name: "metrics", Rate: "5/h", Strategy: strategy, Methods: []string{"PUT"}, OnFailure: core.FailOpen},
			}})
			alice, bob := core.KeyOfPrefix(v4("192.0.2.1")), core.NewKey("k", "bob")
			// Bob is not asked about yet: where that is too slow, his fallback is charged.
			a.exactAgain(t, "api", core.NewKey("k", "somebody"))
			a.answer("POST", "192.0.2.1")
			s.Kill()

			var admitted, slowest atomic.Int64
			var left atomic.Int64
			left.Store(10 * n)
			crowd(20, func() bool {
				start := time.Now()
				d, err := a.decide("api", bob)
				for old := slowest.Load(); int64(time.Since(start)) > old && !slowest.CompareAndSwap(old, int64(time.Since(start))); old = slowest.Load() {
				}
				if err != nil || !d.Degraded || d.Cause == core.ClassNone {
					t.Errorf("%+v, %v", d, err)
				}
				if d.Allowed {
					admitted.Add(1)
				}
				return left.Add(-1) > 0
			})
			if admitted.Load() != n/instances {
				t.Errorf("%d admitted by the fallback, want %d", admitted.Load(), n/instances)
			}
			if d := time.Duration(slowest.Load()); d > DefaultTimeout+within {
				t.Errorf("a decision took %v", d)
			}
			// In one decision: the login is closed, and the API's fallback not charged.
			for range 2 * n {
				if got := a.answer("POST", "192.0.2.1"); got != "503 5" {
					t.Fatalf("login: %s", got)
				}
			}
			for i := range n/instances + 1 {
				want := "200"
				if i == n/instances {
					want = "429"
				}
				if got, _, _ := strings.Cut(a.answer("GET", "192.0.2.1"), " "); got != want {
					t.Errorf("api %d: %s", i, got)
				}
			}
			if got := a.answer("PUT", "192.0.2.2"); got != "200" {
				t.Errorf("metrics: %s", got)
			}
			for range 2 * n {
				if d, err := a.decide("metrics", bob); err != nil || !d.Allowed {
					t.Fatal(d, err)
				}
			}
			s.Start()
			s.WaitReady()
			if d := a.exactAgain(t, "api", alice); d.Remaining != n-1 {
				t.Errorf("%d remaining in a store that has forgotten, want %d", d.Remaining, n-1)
			}
			if got := a.answer("POST", "192.0.2.3"); got != "200" {
				t.Errorf("login afterwards: %s", got)
			}
		})
	}
	clean(t, s)
}

// The server hangs: decisions are made all the same, each within the time-out, and
// by the server again when it goes on, which has lost nothing.
func TestFault_A4Policies(t *testing.T) {
	s := servers.Redis(t)
	a := newApp(t, core.Config{Backend: must(t, plainClient(t, s.Addr()), Options{}), Policies: []core.Policy{{Name: "api", Rate: "30/h"}}})
	k := core.NewKey("k", "v")
	for range 7 {
		a.decide("api", k)
	}
	s.Freeze()
	defer s.Thaw()
	var admitted, left atomic.Int64
	left.Store(200)
	crowd(50, func() bool {
		start := time.Now()
		d, err := a.decide("api", k)
		if err != nil || !d.Degraded || time.Since(start) > DefaultTimeout+within {
			t.Errorf("%+v, %v after %v", d, err, time.Since(start))
		}
		if d.Allowed {
			admitted.Add(1)
		}
		return left.Add(-1) > 0
	})
	if admitted.Load() != 30 {
		t.Errorf("%d admitted by the fallback, want 30", admitted.Load())
	}
	s.Thaw()
	if d := a.exactAgain(t, "api", k); d.Remaining > 30-8 {
		t.Errorf("%d remaining: what the server had counted is lost", d.Remaining)
	}
	clean(t, s)
}

// One of two shards is gone: a decision over both is made by the one and the
// fallback, all or nothing.
func TestFault_B5Policies(t *testing.T) {
	shards := []*servers.Server{servers.Redis(t), servers.Redis(t)}
	c := redis.NewRing(&redis.RingOptions{
		Addrs:                 map[string]string{"a": shards[0].Addr(), "b": shards[1].Addr()},
		ContextTimeoutEnabled: true, HeartbeatFrequency: time.Hour, // so that the shard stays in the ring
	})
	t.Cleanup(func() { c.Close() })
	b := must(t, c, Options{})
	near, far := constOn(t, b, shards[0]), constOn(t, b, shards[1])
	limited := func(mode core.FailureMode, farRate string) *app {
		return newApp(t, core.Config{Backend: b, Policies: []core.Policy{
			{Name: "near", Rate: "20/h", Key: core.Const(near), OnFailure: core.FailClosed},
			{Name: "far", Rate: farRate, Key: core.Const(far), OnFailure: mode},
		}})
	}
	counted := func() int64 {
		d, err := limited(core.Fallback, "3/h").Peek(background(), "near", core.KeyOf(core.KindConst, "", near), 0)
		if err != nil || d.Degraded {
			t.Fatal(d, err)
		}
		return 20 - d.Remaining
	}
	if got := limited(core.Fallback, "3/h").answer("GET", "192.0.2.1"); got != "200" || counted() != 1 {
		t.Fatalf("both up: %s, %d counted", got, counted())
	}
	shards[1].Kill()
	for i, want := range []string{"200", "200", "200", "429", "429"} {
		got, _, _ := strings.Cut(limited(core.Fallback, "3/h").answer("GET", "192.0.2.1"), " ")
		if got != want {
			t.Errorf("request %d: %s, want %s", i, got, want)
		}
	}
	if counted() != 4 {
		t.Errorf("%d counted by the shard that is up, want 4: refusals must cost nothing", counted())
	}
	if got := limited(core.FailClosed, "3/h").answer("GET", "192.0.2.1"); got != "503 5" || counted() != 4 {
		t.Errorf("closed: %s, %d counted", got, counted())
	}
	if got := limited(core.FailOpen, "3/h").answer("GET", "192.0.2.1"); got != "200" || counted() != 5 {
		t.Errorf("open: %s, %d counted", got, counted())
	}
	for range 15 {
		limited(core.FailOpen, "3/h").answer("GET", "192.0.2.1")
	}
	if got := limited(core.FailOpen, "3/h").answer("GET", "192.0.2.1"); !strings.HasPrefix(got, "429") || counted() != 20 {
		t.Errorf("open, but the other is at its limit: %s, %d counted", got, counted())
	}
	shards[1].Start()
	shards[1].WaitReady()
	a := limited(core.Fallback, "3/h")
	a.exactAgain(t, "far", core.KeyOf(core.KindConst, "", far))
	clean(t, shards[0])
	clean(t, shards[1])
}

// constOn is a constant whose cells live on a shard.
func constOn(t *testing.T, b *Backend, s *servers.Server) string {
	t.Helper()
	for i := 0; ; i++ {
		name := fmt.Sprint("c", i)
		a := asking(t, core.FixedWindow{}, 1, time.Second)
		a.Cell.Key = core.KeyOf(core.KindConst, "", name)
		if _, err := take(b, 0, a); err != nil {
			t.Fatal(err)
		}
		if s.Do("EXISTS", nameOf(a)) == "1" {
			return name
		}
	}
}

// What the server refuses, or what somebody else has written, opens no door and
// wakes no fallback.
func TestFault_A10Policies(t *testing.T) {
	s := servers.Redis(t)
	s.Do("ACL", "SETUSER", "web", "on", ">password", "~*", "+@all", "-evalsha", "-eval")
	refused := must(t, redisClient(t, &redis.Options{Addr: s.Addr(), Username: "web", Password: "password"}), Options{})
	for _, mode := range []core.FailureMode{core.Fallback, core.FailOpen} {
		a := newApp(t, core.Config{Backend: refused, Policies: []core.Policy{{Name: "api", Rate: "5/h", OnFailure: mode}}})
		d, err := a.decide("api", core.NewKey("k", "v"))
		if d.Allowed || !errors.Is(err, ErrConfig) || d.Cause != core.ClassConfig {
			t.Errorf("%v: no permission: %+v, %v", mode, d, err)
		}
		if got := a.answer("GET", "192.0.2.1"); got != "503 5" {
			t.Errorf("%v: %s", mode, got)
		}
		a = newApp(t, core.Config{Backend: on(t, s), Policies: []core.Policy{{Name: "api", Rate: "5/h", Strategy: core.GCRA{}, OnFailure: mode}}})
		k := core.NewKey("k", mode.String())
		a.exactAgain(t, "api", k)
		key := strings.Fields(s.Do("KEYS", "*"))[0]
		s.Do("DEL", key)
		s.Do("LPUSH", key, "foreign")
		d, err = a.decide("api", k)
		if d.Allowed || !errors.Is(err, core.ErrProtocol) || d.Cause != core.ClassProtocol {
			t.Errorf("%v: something foreign: %+v, %v", mode, d, err)
		}
		s.Do("DEL", key)
	}
}

func TestFallbackIsMadeOnce(t *testing.T) {
	b := must(t, plainClient(t, "127.0.0.1:1"), Options{})
	if f := b.Fallback(); f == nil || f != b.Fallback() {
		t.Error("another one every time")
	}
	if other := must(t, plainClient(t, "127.0.0.1:1"), Options{}); b.Fallback() == other.Fallback() {
		t.Error("two backends share it")
	}
}

// Every kind of error has a class, and all but ErrConfig are the store's fault.
func TestClassesOfKinds(t *testing.T) {
	for kind, want := range map[error]core.Class{
		ErrOutOfMemory: core.ClassOOM, ErrBusy: core.ClassBusy, ErrReadOnly: core.ClassReadOnly, ErrConfig: core.ClassConfig,
		ErrPool: core.ClassPool, ErrClosed: core.ClassClosed, ErrContention: core.ClassContention,
	} {
		err := fmt.Errorf("redislimit: take: %w: %w", kind, errors.New("the client's words"))
		if got := core.ClassOf(err); got != want || !errors.Is(err, core.ErrUnavailable) || !errors.Is(err, kind) {
			t.Errorf("%v: class %v", kind, got)
		}
	}
}

func v4(s string) netip.Prefix { return netip.PrefixFrom(netip.MustParseAddr(s), 32) }

func redisClient(t *testing.T, o *redis.Options) *redis.Client {
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// cutting lets commands about a key fail at once, before they are sent.
type cutting struct {
	failing
	name string
}

func (c *cutting) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !slices.Contains(cmd.Args(), any(c.name)) {
			return next(ctx, cmd)
		}
		err := &net.OpError{Op: "dial", Err: errors.New("refused")}
		cmd.SetErr(err)
		return err
	}
}

// A place that can not be reached has no say, something foreign in one has: the
// other places are not asked twice.
func TestPlacesThatCanNotBeReached(t *testing.T) {
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: shared.cluster().Addrs(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { c.Close() })
	b := must(t, c, Options{Timeout: patient})
	for _, strategy := range five {
		far := asking(t, strategy, 5, time.Hour)
		apart := func(n int64) core.Ask {
			a := asking(t, strategy, n, time.Hour)
			for serverOf(t, b, a) == serverOf(t, b, far) { // or they were in one pipeline, which is not cut
				a = asking(t, strategy, n, time.Hour)
			}
			return a
		}
		near, other, foreign := apart(2), apart(5), apart(5)
		cut := must(t, c, Options{Timeout: patient})
		hooked := redis.NewClusterClient(c.Options())
		t.Cleanup(func() { hooked.Close() })
		hooked.AddHook(&cutting{name: nameOf(far)})
		cut.via = hooked
		for i := range 3 {
			out := make([]core.Verdict, 3)
			_, err := cut.Take(background(), 0, []core.Ask{near, other, far}, out)
			if err != nil || !errors.Is(out[2].Err, core.ErrUnavailable) {
				t.Fatalf("%s: %v, %v", strategy.Name(), err, out[2].Err)
			}
			for k, v := range out[:2] {
				if ok := i < 2; v.OK != (ok || k == 1) || v.Charged != ok || (v.Receipt != core.Receipt{}) != ok {
					t.Errorf("%s: take %d, ask %d: %+v", strategy.Name(), i, k, v)
				}
			}
		}
		if n := units(t, b, other); n != 2 {
			t.Errorf("%s: %d units counted, want 2", strategy.Name(), n)
		}
		if err := c.HSet(background(), nameOf(foreign), "a", "b").Err(); err != nil {
			t.Fatal(err)
		}
		out := make([]core.Verdict, 3)
		_, err := cut.Take(background(), 0, []core.Ask{other, foreign, far}, out)
		if err != nil || out[0].Charged || !errors.Is(out[1].Err, core.ErrProtocol) || units(t, b, other) != 2 {
			t.Errorf("%s: with something foreign: %+v, %v", strategy.Name(), out, err)
		}
		c.Del(background(), nameOf(foreign))
	}
}
