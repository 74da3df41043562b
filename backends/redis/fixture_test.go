package redislimit

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// within is how late a call may return beyond its time-out on a busy machine. It
// tells 50 ms from the seconds of a client without deadlines, and no more.
const within = time.Second

// five are the strategies with settings that differ in something that matters.
var five = []core.Strategy{
	core.FixedWindow{}, core.SlidingWindow{}, core.BucketedWindow{}, core.MovingWindow{}, core.GCRA{},
}

var fresh atomic.Int64

// asking is an ask for one unit in a cell that nobody has used.
func asking(t testing.TB, s core.Strategy, n int64, window time.Duration) core.Ask {
	t.Helper()
	rule, err := s.Bind(core.Rate{Limit: n, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	space := core.NewSpace("test", window.Microseconds(), rule.Shape(), nil, nil)
	return core.Ask{Cell: core.Cell{Space: space, Key: core.NewKey("k", strconv.FormatInt(fresh.Add(1), 10))}, Rule: rule, Cost: 1}
}

// nameOf is where an ask's cell is by the server's clock.
func nameOf(a core.Ask) string {
	name, _ := cellName(&a.Cell, false)
	return name
}

// plainClient is a client as most people build it.
func plainClient(t testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { c.Close() })
	return c
}

// tally is what became of many calls.
type tally struct {
	admitted, refused, failed atomic.Int64
	slowest                   atomic.Int64
	mu                        sync.Mutex
	errs                      map[string]error
}

func (y *tally) take(b *Backend, a core.Ask) (core.Verdict, error) {
	start := time.Now()
	v, err := take(b, 0, a)
	d := int64(time.Since(start))
	for old := y.slowest.Load(); d > old && !y.slowest.CompareAndSwap(old, d); old = y.slowest.Load() {
	}
	switch {
	case err != nil:
		y.failed.Add(1)
		y.mu.Lock()
		if y.errs == nil {
			y.errs = map[string]error{}
		}
		y.errs[err.Error()] = err
		y.mu.Unlock()
	case v.OK:
		y.admitted.Add(1)
	default:
		y.refused.Add(1)
	}
	return v, err
}

// pace is take as clients come, not as a loop turns: errors that cost nothing
// would leave the servers no time to run in.
func (y *tally) pace(b *Backend, a core.Ask) {
	if _, err := y.take(b, a); err != nil {
		<-time.After(time.Millisecond)
	}
}

// inTime is S2: every call returned in time. All errors must be of these kinds.
func (y *tally) inTime(t *testing.T, b *Backend, kinds ...error) {
	t.Helper()
	if d := time.Duration(y.slowest.Load()); d > b.timeout+within {
		t.Errorf("a call took %v, the time-out is %v", d, b.timeout)
	}
	for _, err := range y.errs {
		known := false
		for _, k := range kinds {
			known = known || errors.Is(err, k)
		}
		if !known {
			t.Errorf("an error of another kind: %v", err)
		}
	}
	t.Logf("admitted %d, refused %d, failed %d, slowest %v", y.admitted.Load(), y.refused.Load(), y.failed.Load(), time.Duration(y.slowest.Load()))
}

// crowd runs f in n goroutines, each as often as it returns true.
func crowd(n int, f func() bool) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for f() {
			}
		})
	}
	wg.Wait()
}

// recovers is S4: there is a decision again soon after the fault has gone.
func recovers(t *testing.T, b *Backend, soon time.Duration, as ...core.Ask) {
	t.Helper()
	if len(as) == 0 {
		as = []core.Ask{asking(t, core.GCRA{}, 5, time.Minute)}
	}
	start := time.Now()
	for _, a := range as {
		for {
			_, err := take(b, 0, a)
			if err == nil {
				break
			}
			if time.Since(start) > soon+within {
				t.Fatalf("after %v still: %v", time.Since(start), err)
			}
		}
	}
	t.Logf("recovered after %v", time.Since(start))
}

// tidy is S5, looked at when the test is over: goroutines are back where they
// were, no client has more connections than its pool may, and no key of these
// servers stays for ever. It comes before clients are made; start makes the
// servers.
func tidy(t *testing.T, start func() []*servers.Server) []*servers.Server {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		eventually(t, func() bool { return runtime.NumGoroutine() <= before })
	})
	all := start()
	t.Cleanup(func() {
		for _, s := range all {
			if s.Running() {
				s.Thaw()
				s.WaitReady() // it may have much to catch up with
				clean(t, s)
			}
		}
	})
	return all
}

// single is a server of a test's own, left tidy.
func single(t *testing.T, args ...string) *servers.Server {
	t.Helper()
	return tidy(t, func() []*servers.Server { return []*servers.Server{servers.Redis(t, args...)} })[0]
}

// sentinels are a test's own, left tidy.
func sentinels(t *testing.T) (s *servers.Sentinels) {
	t.Helper()
	tidy(t, func() []*servers.Server { s = servers.RedisSentinels(t); return s.Nodes })
	return s
}

// cluster is a test's own, left tidy.
func cluster(t *testing.T) (c *servers.Cluster) {
	t.Helper()
	tidy(t, func() []*servers.Server { c = servers.RedisCluster(t); return c.Nodes })
	return c
}

// clean is part of S5: no key of the server stays for ever.
func clean(t *testing.T, s *servers.Server) {
	t.Helper()
	for _, key := range immortal(s) {
		t.Errorf("%s has no time to live", key)
	}
}

// units are how many of a limit's units are used.
func units(t *testing.T, b *Backend, a core.Ask) int64 {
	t.Helper()
	a.When, a.Cost = core.Never, 0
	v, err := take(b, 0, a)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := a.Rule.Quota()
	return n - v.Remaining
}

// during is true for so long.
func during(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return time.Now().Before(end) }
}

func background() context.Context { return context.Background() }

// eventually waits until it is so.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	for still := during(30 * time.Second); !so(); runtime.Gosched() {
		if !still() {
			t.Fatal("waited in vain")
		}
	}
}
