package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A fakeStore is where rows go, and breaks when told to.
type fakeStore struct {
	rows   []string // their routes
	broken atomic.Bool
	tries  atomic.Int64
}

func (s *fakeStore) insert(ctx context.Context, batch []Denial) error {
	s.tries.Add(1)
	if s.broken.Load() {
		return errors.New("out of order")
	}
	for _, d := range batch {
		s.rows = append(s.rows, d.Route)
	}
	return nil
}

func add(l *Log, n int) {
	for i := range n {
		l.Add(Denial{Route: strconv.Itoa(i)})
	}
}

func numbers(n int) (list []string) {
	for i := range n {
		list = append(list, strconv.Itoa(i))
	}
	return list
}

func TestClosingWritesWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s fakeStore
		s.broken.Store(true)
		l := NewLog(s.insert, 1000)
		add(l, 1)
		synctest.Wait() // the writer has it, and all others find it busy
		add(l, 1000)
		s.broken.Store(false)
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if want := append(numbers(1), numbers(1000)...); !slices.Equal(s.rows, want) || l.written.Load() != 1001 || l.dropped.Load() != 0 {
			t.Errorf("%d rows, %d written, %d dropped; want all 1001 in their order", len(s.rows), l.written.Load(), l.dropped.Load())
		}
		if got := s.tries.Load(); got != 6 {
			t.Errorf("%d inserts, want one that failed, that again, and 4 batches", got)
		}
		l.Add(Denial{}) // by a request that ends late
		if l.dropped.Load() != 1 {
			t.Error("a row after the end is not counted")
		}
	})
}

func TestAFullQueueDropsAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s fakeStore
		s.broken.Store(true)
		l := NewLog(s.insert, 10)
		add(l, 1)
		synctest.Wait() // the writer has taken it, and fails
		add(l, 15)
		if got := l.dropped.Load(); got != 5 {
			t.Errorf("%d dropped, want 5: ten fit", got)
		}
		if err := l.Close(done(t)); err == nil || err.Error() != "audit log: 11 denials are lost" {
			t.Errorf("%v", err)
		}
		if got := l.dropped.Load(); got != 16 {
			t.Errorf("%d dropped in all, want 16", got)
		}
	})
}

func TestAnInsertThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s fakeStore
		s.broken.Store(true)
		l := NewLog(s.insert, 10)
		add(l, 3)
		time.Sleep(pause + pause/2)
		synctest.Wait()
		if got := s.tries.Load(); got != 2 {
			t.Errorf("%d tries in one pause and a half, want 2", got)
		}
		s.broken.Store(false)
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if !slices.Equal(s.rows, numbers(3)) {
			t.Errorf("rows %q, want each once", s.rows)
		}
	})
}

func done(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
