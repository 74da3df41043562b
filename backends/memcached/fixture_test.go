package memcachedlimit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// within is a backend on these servers with that time-out.
func within(t testing.TB, timeout time.Duration, all ...*servers.Server) *Backend {
	t.Helper()
	var addrs []string
	for _, s := range all {
		addrs = append(addrs, s.Addr())
	}
	return dialling(t, timeout, addrs...)
}

func dialling(t testing.TB, timeout time.Duration, addrs ...string) *Backend {
	t.Helper()
	b, err := New(addrs, Options{Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// late is how late a call may return beyond its time-out on a busy machine. It
// tells 50 ms from the seconds of a client without deadlines, and no more.
const late = time.Second

// all are the strategies with settings that differ in something that matters.
var all = []core.Strategy{
	core.FixedWindow{}, core.SlidingWindow{}, core.BucketedWindow{}, core.BucketedWindow{Inclusive: true},
	core.FixedWindow{Align: core.FirstHit}, core.MovingWindow{}, core.GCRA{},
}

var counted, swapped = all[:4], all[4:]

var fresh atomic.Int64

// asking is an ask for one unit in a cell that nobody has used, and whose windows
// do not end soon.
func asking(t testing.TB, s core.Strategy, n int64, window time.Duration) core.Ask {
	t.Helper()
	rule, err := s.Bind(core.Rate{Limit: n, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now().UnixMicro()
	space := core.NewSpace("test", window.Microseconds(), rule.Shape(), nil, func(core.Cell) int64 { return begin })
	return core.Ask{Cell: core.Cell{Space: space, Key: core.NewKey("k", strconv.FormatInt(fresh.Add(1), 10))}, Rule: rule, Cost: 1}
}

// take is a Take of one ask.
func take(b *Backend, at int64, a core.Ask) (core.Verdict, error) {
	out := make([]core.Verdict, 1)
	_, err := b.Take(context.Background(), at, []core.Ask{a}, out)
	return out[0], err
}

// itemOf is the key of the item that a charge of the ask goes to now.
func itemOf(t testing.TB, b *Backend, at int64, a core.Ask) string {
	t.Helper()
	cells, err := cellsOf([]core.Ask{a}, at != 0)
	if err != nil {
		t.Fatal(err)
	}
	k := &call{b: b, lane: b.lanes.enter(context.Background()), at: at}
	defer b.lanes.leave(k.lane)
	k.begin()
	c := &cells[0]
	if k.date([]*cell{c}); c.err != nil {
		t.Fatal(c.err)
	}
	if c.count == 0 {
		return c.name
	}
	return c.counter(c.layout.number(k.now, c.phase))
}

// units are how many of a limit's units are used.
func units(t testing.TB, b *Backend, at int64, a core.Ask) int64 {
	t.Helper()
	a.When, a.Cost = core.Never, 0
	v, err := take(b, at, a)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := a.Rule.Quota()
	return n - v.Remaining
}

// tally is what became of many calls.
type tally struct {
	admitted, refused, failed atomic.Int64
	slowest                   atomic.Int64
	mu                        sync.Mutex
	errs                      map[string]error
}

func (y *tally) take(b *Backend, asks ...core.Ask) (ok bool) {
	start := time.Now()
	out := make([]core.Verdict, len(asks))
	_, err := b.Take(context.Background(), 0, asks, out)
	d := int64(time.Since(start))
	for old := y.slowest.Load(); d > old && !y.slowest.CompareAndSwap(old, d); old = y.slowest.Load() {
	}
	ok = true
	for i := range out {
		ok = ok && out[i].OK
		err = errors.Join(err, out[i].Err)
	}
	switch {
	case err != nil:
		ok = false
		y.failed.Add(1)
		y.mu.Lock()
		if y.errs == nil {
			y.errs = map[string]error{}
		}
		y.errs[err.Error()] = err
		y.mu.Unlock()
	case ok:
		y.admitted.Add(1)
	default:
		y.refused.Add(1)
	}
	return ok
}

// inTime is S2: every call returned in time. All errors must be of these kinds.
func (y *tally) inTime(t *testing.T, b *Backend, kinds ...error) {
	t.Helper()
	if d := time.Duration(y.slowest.Load()); d > b.timeout+late {
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

// times is a function for crowd that is true n times in all.
func times(n int64, f func()) func() bool {
	var done atomic.Int64
	return func() bool {
		if done.Add(1) > n {
			return false
		}
		f()
		return true
	}
}

// recovers is S4: there is a decision again soon after the fault has gone.
func recovers(t *testing.T, b *Backend, soon time.Duration) {
	t.Helper()
	start := time.Now()
	for _, s := range all {
		a := asking(t, s, 5, time.Minute)
		for {
			_, err := take(b, 0, a)
			if err == nil {
				break
			}
			if time.Since(start) > soon+late {
				t.Fatalf("after %v still: %v", time.Since(start), err)
			}
		}
	}
	t.Logf("recovered after %v", time.Since(start))
}

// during is true for so long.
func during(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return time.Now().Before(end) }
}

// eventually waits until it is so.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	for still := during(30 * time.Second); !so(); runtime.Gosched() {
		if !still() {
			t.Fatal("waited in vain")
		}
	}
}

// An item is what the server says of one.
type item struct {
	key     string
	expires int64 // seconds since 1970, -1 for never
}

// items are all that a server holds.
func items(s *servers.Server) (all []item, err error) {
	c, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := fmt.Fprint(c, "lru_crawler metadump all\r\n"); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || fields[0] == "END" {
			return all, nil
		}
		var i item
		for _, f := range fields {
			name, value, _ := strings.Cut(f, "=")
			switch name {
			case "key":
				if i.key, err = url.QueryUnescape(value); err != nil {
					return nil, err
				}
			case "exp":
				if i.expires, err = strconv.ParseInt(value, 10, 64); err != nil {
					return nil, err
				}
			}
		}
		if i.key == "" {
			return nil, fmt.Errorf("the server says %q", lines.Text())
		}
		all = append(all, i)
	}
	return nil, lines.Err()
}

// unfit are the items of a server that will never expire, or whose keys are not
// as they should be.
func unfit(s *servers.Server) (bad []string) {
	list, err := items(s)
	if err != nil {
		return []string{err.Error()}
	}
	for _, i := range list {
		switch {
		case i.expires <= 0:
			bad = append(bad, i.key+" stays for ever")
		case len(i.key) > 250 || strings.ContainsFunc(i.key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
			bad = append(bad, strconv.Quote(i.key)+" is no good key")
		}
	}
	return bad
}
