package memcachedlimit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
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

// A cell that others change again and again is an error in the end, and was not
// charged by whoever gave up.
func TestContentionWins(t *testing.T) {
	p := faultproxy.New(t, shared.single().Addr())
	b := dialling(t, patient, p.Addr())
	for _, strategy := range swapped {
		a := asking(t, strategy, 5, time.Hour)
		if _, err := take(b, 0, a); err != nil {
			t.Fatal(err)
		}
		var writes atomic.Int64
		p.Set(faultproxy.Mode{Corrupt: func(reply []byte) []byte {
			if !bytes.HasPrefix(reply, []byte("VALUE ")) {
				return reply
			}
			// As if somebody had written it since: another number of the version.
			line, data, _ := bytes.Cut(reply, []byte("\r\n"))
			writes.Add(1)
			return fmt.Appendf(nil, "%s9\r\n%s", line, data)
		}})
		_, err := take(b, 0, a)
		p.Set(faultproxy.Mode{})
		if !errors.Is(err, ErrContention) || core.ClassOf(err) != core.ClassContention || writes.Load() < swaps {
			t.Errorf("%+v: after %d tries: %v", strategy, writes.Load(), err)
		}
		if used := units(t, b, 0, a); used != 1 {
			t.Errorf("%+v: %d units are used", strategy, used)
		}
	}
}
