package redislimit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/faultproxy"
)

// Redis is down when the program starts.
func TestFault_A1(t *testing.T) {
	s := single(t)
	s.Kill()
	b := must(t, plainClient(t, s.Addr()), Options{})
	var y tally
	for range 5 {
		if _, err := y.take(b, asking(t, core.GCRA{}, 5, time.Minute)); !errors.Is(err, core.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
	}
	y.inTime(t, b, core.ErrUnavailable)
	s.Start()
	s.WaitReady()
	recovers(t, b, time.Second)
}

// It is killed under load and comes back empty: at most one more limit is
// admitted.
func TestFault_A2(t *testing.T) {
	s := single(t)
	b := must(t, plainClient(t, s.Addr()), Options{})
	for _, strategy := range five {
		const n = 60
		a := asking(t, strategy, n, time.Hour)
		var y tally
		var wg sync.WaitGroup
		done := make(chan struct{})
		for range 20 {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
						y.take(b, a)
					}
				}
			})
		}
		eventually(t, func() bool { return y.refused.Load() > 0 })
		s.Kill()
		eventually(t, func() bool { return y.failed.Load() >= 40 })
		s.Start()
		s.WaitReady()
		before := y.refused.Load()
		eventually(t, func() bool { return y.refused.Load() > before+100 })
		close(done)
		wg.Wait()
		if got := y.admitted.Load(); got <= n || got > 2*n {
			t.Errorf("%s: %d admitted over one restart, the limit is %d", strategy.Name(), got, n)
		}
		y.inTime(t, b, core.ErrUnavailable)
	}
	clean(t, s)
}

// Scripts are flushed under load.
func TestFault_A3(t *testing.T) {
	s := single(t)
	b := must(t, plainClient(t, s.Addr()), Options{Timeout: patient})
	a := asking(t, core.SlidingWindow{}, 10_000, time.Hour)
	flushed := make(chan int)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		n := 0
		for ctx.Err() == nil {
			s.Do("SCRIPT", "FLUSH")
			n++
		}
		flushed <- n
	}()
	var y tally
	var left atomic.Int64
	left.Store(2000)
	crowd(8, func() bool { y.take(b, a); return left.Add(-1) > 0 })
	cancel()
	if n := <-flushed; n < 5 {
		t.Fatalf("flushed only %d times", n)
	}
	if y.failed.Load() > 0 || units(t, b, a) != y.admitted.Load() {
		t.Errorf("%d errors; %d admitted, %d counted", y.failed.Load(), y.admitted.Load(), units(t, b, a))
	}
	y.inTime(t, b)
}

// The server hangs with its connections open, under a client with default
// options.
func TestFault_A4(t *testing.T) {
	s := single(t)
	b := must(t, plainClient(t, s.Addr()), Options{})
	a := asking(t, core.GCRA{}, 1_000_000, time.Hour)
	var y tally
	crowd(50, func() bool { y.take(b, a); return false })
	s.Freeze()
	defer s.Thaw()
	var left atomic.Int64
	left.Store(400)
	crowd(200, func() bool { y.take(b, a); return left.Add(-1) > 0 })
	if y.failed.Load() < 400 {
		t.Errorf("only %d calls failed", y.failed.Load())
	}
	y.inTime(t, b, core.ErrUnavailable)
	s.Thaw()
	recovers(t, b, time.Second)
	clean(t, s)
}

// Replies are lost after execution: every call counts at most once.
func TestFault_A5(t *testing.T) {
	s := single(t)
	p := faultproxy.New(t, s.Addr())
	b := must(t, plainClient(t, p.Addr()), Options{Timeout: patient})
	direct := on(t, s)
	for _, strategy := range five {
		a := asking(t, strategy, 1000, time.Hour)
		if _, err := take(b, 0, a); err != nil { // the script is known from here on
			t.Fatal(err)
		}
		p.Set(faultproxy.Mode{DropReply: []byte("evalsha")})
		var y tally
		for range 100 {
			y.take(b, a)
		}
		p.Set(faultproxy.Mode{})
		if y.failed.Load() != 100 {
			t.Fatalf("%d calls failed", y.failed.Load())
		}
		y.inTime(t, b, core.ErrUnavailable)
		if got := units(t, direct, a); got != 101 {
			t.Errorf("%s: %d units for 101 calls", strategy.Name(), got)
		}
	}
}

// Slow but alive: pauses, sleep, a slow network.
func TestFault_A6(t *testing.T) {
	s := single(t)
	p := faultproxy.New(t, s.Addr())
	for name, fault := range map[string]struct {
		begin, end func()
		works      bool // decisions are still made in time
		either     bool // some are, some are not
	}{
		"pause":        {begin: func() { s.Do("CLIENT", "PAUSE", "60000", "WRITE") }, end: func() { s.Do("CLIENT", "UNPAUSE") }},
		"sleep":        {begin: func() { go s.Do("DEBUG", "SLEEP", "0.5") }, end: func() { s.Do("PING") }},
		"drip":         {begin: func() { p.Set(faultproxy.Mode{Drip: 10 * time.Millisecond}) }, end: func() { p.Set(faultproxy.Mode{}) }},
		"delay":        {begin: func() { p.Set(faultproxy.Mode{Delay: 20 * time.Millisecond}) }, end: func() { p.Set(faultproxy.Mode{}) }, works: true},
		"just in time": {begin: func() { p.Set(faultproxy.Mode{Delay: 40 * time.Millisecond}) }, end: func() { p.Set(faultproxy.Mode{}) }, either: true},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := DefaultTimeout
			if fault.works {
				timeout = patient
			}
			b := must(t, plainClient(t, p.Addr()), Options{Timeout: timeout})
			a := asking(t, core.BucketedWindow{}, 1_000_000, time.Hour)
			next := identities(t, 100)
			var y, others tally
			y.take(b, a)
			crowd(16, func() bool { others.take(b, next()); return false })
			fault.begin()
			lasts := 300 * time.Millisecond
			if fault.either {
				lasts = 3 * time.Second
			}
			still := during(lasts)
			crowd(8, func() bool { y.pace(b, a); others.pace(b, next()); return still() })
			fault.end()
			y.inTime(t, b, core.ErrUnavailable)
			others.inTime(t, b, core.ErrUnavailable)
			if !fault.either && fault.works != (y.failed.Load() == 0) {
				t.Errorf("%d calls failed", y.failed.Load())
			}
			recovers(t, b, time.Second)
			if n := changes(b); n > 4 || fault.works && n > 0 {
				t.Errorf("the breaker changed %d times", n)
			}
			used := units(t, on(t, s), a)
			if least, most := y.admitted.Load(), y.admitted.Load()+y.failed.Load(); used < least || used > most {
				t.Errorf("%d units used, %d admitted, %d unknown", used, least, most-least)
			}
		})
	}
	clean(t, s)
}
