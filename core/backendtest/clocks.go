package backendtest

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/stint-go/stint/core"
)

func explicitInstants(s *suite, st strategy) {
	s.skipGrowing(st)
	l := s.limit(st, 4, time.Minute)
	year := int64(366 * 86400 * 1e6)
	for _, start := range []int64{1, 2, 999_999, year, 1<<31*1e6 - 1, epoch, time.Now().UnixMicro(), 1 << 32 * 1e6, 4_102_444_800 * 1e6, 4_200_000_000 * 1e6} {
		h := s.history()
		h.start = start
		a := l.ask("at "+strconv.FormatInt(start, 10), 1)
		h.take(0, "+", cost(l.quota(), a))
		retry := h.take(0, "-", a)[0].RetryAfter
		for _, after := range []int64{retry - 1, 0, retry / 2, retry - 1} { // back as well
			h.take(after, "-", a)
		}
		h.take(retry, "+", a)
		h.take(retry+100*l.window(), "+", cost(l.quota(), a))
	}
}

// instantsApart: replaying one cell tells nothing about the time of another, and
// a replay nothing about the time now.
func instantsApart(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	l := s.limit(st, 3, time.Minute)
	a := l.ask("past", 1)
	h.take(0, "+", cost(l.quota(), a))
	own := s.limitAt(st, 3, quietWindow(time.Now()), func(core.Cell) int64 { return 0 })
	b := own.ask("now", 1)
	if v := s.take(0, cost(own.quota(), b))[0]; !v.OK {
		s.Fatal("a new cell refused its quota")
	}
	const century = 3_200_000_000 * 1e6
	for i := range s.loops(400) {
		s.take(epoch+century/2, l.ask("future"+strconv.Itoa(i), 1))
		s.take(0, own.ask("now"+strconv.Itoa(i), 1))
	}
	if v := s.take(0, b)[0]; v.OK {
		s.Fatalf("%s: a cell of the own clock was freed by others' explicit instants", own.label)
	}
	h.take(1, "-", a)
}

func ownClock(s *suite) {
	l := s.limit(stranger, core.MaxLimit, time.Hour)
	a, last := l.ask("k", 1), int64(0)
	for range s.loops(1000) {
		_, now, err := s.try(0, a)
		if err != nil {
			s.Fatal(err)
		}
		if now < last {
			s.Fatalf("the clock went back by %dµs", last-now)
		}
		last = now
	}
	if off := time.Since(time.UnixMicro(last)).Abs(); off > 24*time.Hour {
		s.Fatalf("the clock is %v off", off)
	}
}

func cancelledContext(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	l := s.limit(st, 2, time.Minute)
	asks := []core.Ask{l.ask("a", l.quota()), l.ask("b", l.quota())}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	for _, ctx := range []context.Context{cancelled, late} {
		for n := 1; n <= len(asks); n++ {
			_, err := s.backend.Take(ctx, epoch, asks[:n], make([]core.Verdict, n))
			if !errors.Is(err, ctx.Err()) {
				s.Fatalf("Take under a context that was done (%v) returned the error %v", ctx.Err(), err)
			}
		}
	}
	h.take(0, "++", asks...)
}
