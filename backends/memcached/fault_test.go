package memcachedlimit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/faultproxy"
	"github.com/stint-go/stint/internal/servers"
)

// memcached is down at the start, refuses, hangs, swallows, drips: no call takes
// longer than its time-out, and soon after there are decisions again.
func TestFault_C1(t *testing.T) {
	s := servers.Memcached(t)
	p := faultproxy.New(t, s.Addr())
	const callers = 100
	for _, fault := range []struct {
		name       string
		start, end func()
	}{
		{"down", func() { s.Kill() }, func() { s.Start(); s.WaitMemcached() }},
		{"refusing", func() { p.Set(faultproxy.Mode{Refuse: true}); p.Cut() }, func() { p.Set(faultproxy.Mode{}) }},
		{"frozen", s.Freeze, s.Thaw},
		{"blackhole", func() { p.Set(faultproxy.Mode{Blackhole: true}) }, func() { p.Set(faultproxy.Mode{}); p.Cut() }},
		{"slow", func() { p.Set(faultproxy.Mode{Delay: 40 * time.Millisecond}) }, func() { p.Set(faultproxy.Mode{}) }},
		{"dripping", func() { p.Set(faultproxy.Mode{Drip: 10 * time.Millisecond}) }, func() { p.Set(faultproxy.Mode{}); p.Cut() }},
	} {
		t.Run(fault.name, func(t *testing.T) {
			b := dialling(t, 0, p.Addr())
			if b.timeout != DefaultTimeout {
				t.Fatalf("time-out %v", b.timeout)
			}
			recovers(t, b, time.Second)
			before := runtime.NumGoroutine()
			fault.start()
			for _, strategy := range all {
				a := asking(t, strategy, 1000, time.Hour)
				other := asking(t, strategy, 1000, 2*time.Hour)
				var y tally
				crowd(callers, times(2*callers, func() { y.take(b, a, other) }))
				// The proxy has its own, as long as connections are open.
				eventually(t, func() bool { return runtime.NumGoroutine() <= before+4*p.Open()+20 })
				y.inTime(t, b, core.ErrUnavailable)
				if y.failed.Load() == 0 {
					t.Error("nothing failed")
				}
			}
			fault.end()
			recovers(t, b, time.Second)
		})
	}
	t.Run("at the start", func(t *testing.T) {
		s.Kill()
		b := within(t, 0, s)
		if _, err := take(b, 0, asking(t, core.GCRA{}, 5, time.Minute)); !errors.Is(err, core.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
		s.Start()
		s.WaitMemcached()
		recovers(t, b, time.Second)
	})
}

// A server that was restarted costs no decision: connections that it closed are
// replaced before anything is sent.
func TestIdleConnectionsAreReplaced(t *testing.T) {
	s := servers.Memcached(t)
	b := on(t, s)
	for range 3 {
		var y tally
		a := asking(t, core.FixedWindow{}, 1000, time.Hour)
		crowd(20, times(100, func() { y.take(b, a) }))
		y.inTime(t, b)
		s.Kill()
		s.Start()
		s.WaitMemcached()
	}
}

// The caller's own deadline counts where it is earlier.
func TestDeadlineOfTheCaller(t *testing.T) {
	s := servers.Memcached(t)
	b := on(t, s)
	recovers(t, b, time.Second)
	s.Freeze()
	defer s.Thaw()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := b.Take(ctx, 0, []core.Ask{asking(t, core.GCRA{}, 5, time.Minute)}, make([]core.Verdict, 1))
	if d := time.Since(start); !errors.Is(err, core.ErrUnavailable) || d > 50*time.Millisecond+late {
		t.Errorf("after %v: %v", d, err)
	}
}

// What timed out is applied later: it costs quota, and never gives any.
func TestFault_C2(t *testing.T) {
	s := servers.Memcached(t)
	for _, strategy := range all {
		b := within(t, 50*time.Millisecond, s)
		const n = 200
		a := asking(t, strategy, n, time.Hour)
		var y tally
		frozen := false
		for y.refused.Load() == 0 {
			crowd(20, times(100, func() { y.take(b, a) }))
			if !frozen {
				frozen = true
				s.Freeze()
				crowd(20, times(60, func() { y.take(b, a) }))
				s.Thaw()
				recovers(t, b, time.Second)
			}
		}
		y.inTime(t, b, core.ErrUnavailable)
		if got := y.admitted.Load(); got > n || y.failed.Load() == 0 {
			t.Errorf("%+v: %d admitted of %d, %d failed", strategy, got, n, y.failed.Load())
		}
		if used := units(t, b, 0, a); used < y.admitted.Load() {
			t.Errorf("%+v: %d admitted, %d used", strategy, y.admitted.Load(), used)
		}
	}
}

// Many create a counter at once, again and again.
func TestFault_C3(t *testing.T) {
	b := on(t, shared.three()...)
	const n = 5
	for _, strategy := range counted {
		for range 50 {
			a := asking(t, strategy, n, time.Hour)
			var y tally
			crowd(32, times(64, func() { y.take(b, a) }))
			if y.admitted.Load() != n || y.failed.Load() != 0 {
				t.Fatalf("%+v: %d admitted of %d; %v", strategy, y.admitted.Load(), n, y.errs)
			}
		}
	}
}

// A counter that is gone whenever it is to be charged is an error, after a few
// tries, and never a guess.
func TestCounterThatVanishes(t *testing.T) {
	p := faultproxy.New(t, shared.single().Addr())
	b := dialling(t, patient, p.Addr())
	var replies atomic.Int64
	p.Set(faultproxy.Mode{Corrupt: func(reply []byte) []byte {
		replies.Add(1)
		if bytes.HasSuffix(reply, []byte("STORED\r\n")) {
			return []byte("NOT_STORED\r\n")
		}
		return []byte("NOT_FOUND\r\n")
	}})
	_, err := take(b, 0, asking(t, core.FixedWindow{}, 5, time.Hour))
	if !errors.Is(err, ErrContention) || replies.Load() != 2*attempts {
		t.Errorf("after %d replies: %v", replies.Load(), err)
	}
}

// Windows longer than 30 days: memcached takes their seconds for an instant.
func TestFault_C4(t *testing.T) {
	s := servers.Memcached(t)
	b := on(t, s)
	const day, n = 24 * time.Hour, 4
	for _, strategy := range all {
		for _, window := range []time.Duration{30 * day, 30*day + time.Second, 60 * day, 365 * day} {
			a := asking(t, strategy, n, window)
			now := time.Now()
			for range n {
				if v, err := take(b, 0, a); err != nil || !v.OK {
					t.Fatal(v, err)
				}
			}
			v, err := take(b, 0, a)
			if err != nil || v.OK {
				t.Errorf("%+v per %v: %+v %v", strategy, window, v, err)
			}
			if expires, until := lives(t, s, itemOf(t, b, 0, a)), now.Add(time.Duration(v.ResetAfter)*time.Microsecond).Unix(); expires < until {
				t.Errorf("%+v per %v: it expires at %d and matters until %d", strategy, window, expires, until)
			}
		}
	}
}

// What the server forgets is forgotten: at most one more limit is admitted each
// time, and the decisions go on.
func TestFault_C6(t *testing.T) {
	const n = 20
	exhaust := func(t *testing.T, b *Backend, a core.Ask) (admitted int64) {
		var y tally
		for y.refused.Load() == 0 {
			if y.take(b, a); y.failed.Load() > 0 {
				t.Fatal(y.errs)
			}
		}
		return y.admitted.Load()
	}
	for _, strategy := range all {
		t.Run(fmt.Sprintf("%T%+v", strategy, strategy), func(t *testing.T) {
			s := servers.Memcached(t, "-m", "1", "-I", "512k")
			b := on(t, s)
			a := asking(t, strategy, n, time.Hour)
			again := func(what string) {
				t.Helper()
				if got := exhaust(t, b, a); got != n {
					t.Errorf("%d admitted of %d, %s", got, n, what)
				}
			}
			again("at first")
			key := itemOf(t, b, 0, a)
			flood := memcache.New(s.Addr())
			defer flood.Close()
			// Items of the same size: memcached evicts among those. To look at the key is
			// to use it, so it is not looked at often.
			value := []byte(s.Tell("get " + key)[1])
			for i := 0; i == 0 || len(s.Tell("get "+key)) > 0; {
				for range 30_000 {
					i++
					k := fmt.Sprintf("%s-%07d", key[:len(key)-8], i)
					if err := flood.Set(&memcache.Item{Key: k, Value: value, Expiration: 600}); err != nil {
						t.Fatal(err)
					}
				}
				if i > 300_000 {
					t.Fatal("nothing was evicted")
				}
			}
			again("after it was evicted")
			s.Tell("flush_all")
			again("after flush_all")
			s.Kill()
			s.Start()
			s.WaitMemcached()
			again("after a restart")
		})
	}
	t.Run("servers change under load", func(t *testing.T) {
		var addrs []string
		for _, s := range shared.three() {
			addrs = append(addrs, s.Addr())
		}
		list := new(memcache.ServerList)
		if err := list.SetServers(addrs[:2]...); err != nil {
			t.Fatal(err)
		}
		b, err := NewFromSelector(list, Options{Timeout: patient})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		var asks []core.Ask
		for range 12 {
			asks = append(asks, asking(t, core.SlidingWindow{}, n, time.Hour))
		}
		admitted := make([]tally, len(asks))
		var next atomic.Int64
		crowd(16, times(4000, func() {
			i := next.Add(1)
			if i == 2000 {
				if err := list.SetServers(addrs...); err != nil {
					t.Error(err)
				}
			}
			admitted[i%int64(len(asks))].take(b, asks[i%int64(len(asks))])
		}))
		moved := 0
		for i := range admitted {
			got := admitted[i].admitted.Load()
			if got != n && got != 2*n || admitted[i].failed.Load() > 0 {
				t.Errorf("%d admitted of %d; %v", got, n, admitted[i].errs)
			}
			if got > n {
				moved++
			}
		}
		t.Logf("%d of %d cells moved", moved, len(asks))
	})
}

// Whatever the subject, the key is legal and the limit holds: an error would be a
// way around a limiter that fails open.
func TestFault_C7(t *testing.T) {
	s := servers.Memcached(t)
	b := on(t, s)
	for _, subject := range []string{"", " ", "a b", "a\r\nflush_all\r\n", "\x00", strings.Repeat("x", 300), strings.Repeat("é", 3<<20), "\xff\xfe", "a#1", "}"} {
		for _, strategy := range all {
			for _, at := range []int64{0, 1_700_000_000_000_000} {
				a := asking(t, strategy, 1, time.Hour)
				a.Cell.Key = core.NewKey("subject", subject)
				for i, want := range []bool{true, false} {
					if v, err := take(b, at, a); err != nil || v.OK != want {
						t.Errorf("%+v, subject %.20q, call %d: %+v %v", strategy, subject, i, v, err)
					}
				}
				if err := b.Reset(t.Context(), a.Cell); err != nil {
					t.Error(err)
				}
			}
		}
	}
	longest := core.Naming{Prefix: strings.Repeat("#", 32)}
	window := 366*24*time.Hour - time.Microsecond
	rule, err := core.SlidingWindow{}.Bind(core.Rate{Limit: 1, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	space := core.NewSpace(strings.Repeat("p", 64), window.Microseconds(), rule.Shape(), &longest, nil)
	a := core.Ask{Cell: core.Cell{Space: space, Key: core.NewKey("k", "v")}, Rule: rule, Cost: 1}
	for _, at := range []int64{0, 1 << 52} {
		if v, err := take(b, at, a); err != nil || !v.OK {
			t.Errorf("%+v %v", v, err)
		}
		key := itemOf(t, b, at, a)
		if name, _ := cellName(&a.Cell, at != 0); cellOf(key) != name {
			t.Errorf("the cell of %s is %s", key, cellOf(key))
		}
	}
	for _, what := range unfit(s) {
		t.Error(what)
	}
}

// Something foreign under our key is an error that names it, for that ask; its
// decision is refused, it stays as it is, and others go on.
func TestFault_C8(t *testing.T) {
	s := shared.single()
	b := on(t, s)
	const at = 1_700_000_000_000_000
	foreign := func(strategy core.Strategy, values ...string) {
		t.Helper()
		for _, value := range values {
			a := asking(t, strategy, 5, time.Hour)
			key := itemOf(t, b, at, a)
			s.Tell(fmt.Sprintf("set %s 0 3600 %d\r\n%s", key, len(value), value))
			beside, free := asking(t, strategy, 5, time.Hour), asking(t, core.FixedWindow{}, 5, time.Hour)
			free.Group = 1
			for _, asks := range [][]core.Ask{{a}, {beside, a, free}} {
				out := make([]core.Verdict, len(asks))
				_, err := b.Take(t.Context(), at, asks, out)
				for i := range asks {
					switch {
					case len(asks) == 1:
					case asks[i].Cell.Key == a.Cell.Key:
						err = out[i].Err
					case out[i].Err != nil || out[i].Charged != (asks[i].Group == 1):
						t.Errorf("%T, %q: beside it: %+v", strategy, value, out[i])
					}
				}
				if !errors.Is(err, core.ErrProtocol) || !strings.Contains(fmt.Sprint(err), cellOf(key)) {
					t.Errorf("%T, %q: error %v", strategy, value, err)
				}
			}
			if got := s.Tell("get " + key); len(got) != 2 || strings.TrimRight(got[1], " ") != strings.TrimRight(value, " ") {
				t.Errorf("%T, %q has become %q", strategy, value, got)
			}
		}
	}
	for _, strategy := range counted {
		foreign(strategy, "abc", "-1", "1.5", "0x10", "1a", "18446744073709551615", "9223372036854775808", "9007199254740992", strings.Repeat("9", 40))
	}
	for _, strategy := range swapped {
		foreign(strategy, "abc", "-1 0", "1", "1 2 3", "1 2 3 4 5", "1  2", "9007199254740992 1", " ")
	}
	foreign(core.MovingWindow{}, "5 1 5 1", "5 1 4 1", "5 0")
	foreign(core.GCRA{}, "1 2")
}

// What the server says is no memcached.
func TestGarbageReplies(t *testing.T) {
	p := faultproxy.New(t, shared.single().Addr())
	b := dialling(t, patient, p.Addr())
	for reply, kind := range map[string]error{
		"\n":                                  core.ErrProtocol,
		"\r\n":                                core.ErrProtocol,
		"hello\r\n":                           core.ErrProtocol,
		"CLIENT_ERROR\r\n":                    core.ErrProtocol,
		"CLIENT_ERROR \n":                     core.ErrProtocol,
		"VALUE \r\n":                          core.ErrProtocol,
		"HTTP/1.1 400 Bad Request\r\n":        core.ErrProtocol,
		"ERROR\r\n":                           ErrConfig,
		"ERROR Too many open connections\r\n": ErrConfig,
		"CLIENT_ERROR unauthenticated\r\n":    ErrConfig,
		"SERVER_ERROR out of memory storing object\r\n": ErrOutOfMemory,
		"SERVER_ERROR object too large for cache\r\n":   ErrOutOfMemory,
		"SERVER_ERROR temporary failure\r\n":            core.ErrUnavailable,
	} {
		for _, strategy := range all {
			a := asking(t, strategy, 5, time.Hour)
			for _, asks := range [][]core.Ask{{a}, {a, asking(t, strategy, 5, 2*time.Hour)}} {
				p.Set(faultproxy.Mode{Corrupt: func([]byte) []byte { return []byte(reply) }})
				_, err := b.Take(t.Context(), 0, asks, make([]core.Verdict, len(asks)))
				if !errors.Is(err, kind) {
					t.Errorf("%T, %q: %v", strategy, reply, err)
				}
				p.Set(faultproxy.Mode{})
				p.Cut()
			}
			if _, err := take(b, 0, asking(t, strategy, 5, time.Hour)); err != nil {
				t.Errorf("%T, after %q: %v", strategy, reply, err)
			}
		}
	}
}

// Real refusals of a real server: no room, and too many clients.
func TestServerRefuses(t *testing.T) {
	s := servers.Memcached(t, "-m", "1", "-I", "512k", "-M")
	flood := memcache.New(s.Addr())
	defer flood.Close()
	for size := 1; size < 400; size += 20 { // every class of sizes that a cell may be of
		for i := 0; ; i++ {
			if flood.Set(&memcache.Item{Key: fmt.Sprintf("flood-%d-%d", size, i), Value: make([]byte, size), Expiration: 600}) != nil {
				break
			}
			if i > 1_000_000 {
				t.Fatal("the server is never full")
			}
		}
	}
	b := on(t, s)
	for _, strategy := range all {
		a := asking(t, strategy, 5, time.Hour)
		for range 3 {
			if _, err := take(b, 0, a); !errors.Is(err, ErrOutOfMemory) {
				t.Errorf("%T: %v", strategy, err)
			}
		}
	}

	few := servers.Memcached(t, "-c", "50", "-o", "maxconns_fast")
	busy := on(t, few)
	var wg sync.WaitGroup
	var refused atomic.Int64
	a := asking(t, core.FixedWindow{}, 1000, time.Hour)
	for range 100 {
		l := busy.lanes.enter(t.Context())
		wg.Go(func() { // each on a connection that stays open
			k := &call{b: busy, lane: l}
			k.begin()
			cells, err := cellsOf([]core.Ask{a}, false)
			if err != nil {
				t.Error(err)
				return
			}
			if k.look(&cells[0]); cells[0].err != nil {
				refused.Add(1)
				if !errors.Is(cells[0].err, core.ErrUnavailable) {
					t.Error(cells[0].err)
				}
			}
		})
		defer busy.lanes.leave(l)
	}
	wg.Wait()
	if refused.Load() == 0 {
		t.Error("the server refused nobody")
	}
}

// Several limits: never more than the smallest, and at rest every counter is what
// was admitted, wherever it is.
func TestFault_C10(t *testing.T) {
	for _, where := range [][]*servers.Server{{shared.single()}, shared.three()} {
		b := on(t, where...)
		for _, strategy := range counted {
			asks := []core.Ask{asking(t, strategy, 60, time.Hour), asking(t, strategy, 40, 2*time.Hour), asking(t, strategy, 90, 3*time.Hour)}
			var y tally
			crowd(64, times(2000, func() { y.take(b, asks...) }))
			y.inTime(t, b)
			if got := y.admitted.Load(); got > 40 || got < 20 {
				t.Errorf("%T: %d admitted of 40", strategy, got)
			}
			for i, a := range asks {
				if used := units(t, b, 0, a); used != y.admitted.Load() {
					t.Errorf("%T: counter %d holds %d, admitted were %d", strategy, i, used, y.admitted.Load())
				}
			}
		}
	}
}

// One of three servers is down: decisions that need it are errors and charge
// nothing anywhere, soft asks of it trouble nobody, all others go on.
func TestOneOfThreeServersIsDown(t *testing.T) {
	where := []*servers.Server{servers.Memcached(t), servers.Memcached(t), servers.Memcached(t)}
	b := on(t, where...)
	on := func(server int) core.Ask { // an ask of a cell there
		for {
			a := asking(t, core.SlidingWindow{}, 10, time.Hour)
			name, _ := cellName(&a.Cell, false)
			if addr, err := b.lanes.selector.PickServer(name); err != nil {
				t.Fatal(err)
			} else if addr.String() == where[server].Addr() {
				return a
			}
		}
	}
	here, there, dead := on(0), on(1), on(2)
	where[2].Kill()
	out := make([]core.Verdict, 3)
	if _, err := b.Take(t.Context(), 0, []core.Ask{here, dead, there}, out); err != nil {
		t.Fatal(err) // two of three were judged
	}
	if !errors.Is(out[1].Err, core.ErrUnavailable) || out[0].Charged || out[2].Charged {
		t.Errorf("%+v", out)
	}
	dead.Soft = true
	if _, err := b.Take(t.Context(), 0, []core.Ask{here, dead, there}, out); err != nil || !out[0].Charged || out[1].Err == nil || !out[2].Charged {
		t.Errorf("%+v %v", out, err)
	}
	if a, c := units(t, b, 0, here), units(t, b, 0, there); a != 1 || c != 1 {
		t.Errorf("%d and %d units are used", a, c)
	}
}
