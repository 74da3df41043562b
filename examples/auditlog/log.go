package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// A Log takes rows in no time and writes them in batches in the background. What
// does not fit into its queue is dropped and counted: an attacker who is refused
// a million times must cost a counter, not the memory. It is safe for concurrent
// use.
type Log struct {
	insert  func(context.Context, []Denial) error
	queue   chan Denial
	mu      sync.RWMutex // held for writing while the queue is closed
	closed  bool
	giveUp  context.CancelFunc
	done    chan struct{} // closed when the last row is written or given up
	written atomic.Int64
	dropped atomic.Int64
}

const (
	maxBatch = 256
	pause    = time.Second // after an insert that failed, before it is tried again
)

// NewLog starts a Log with room for size rows. insert writes a batch, all of it
// or nothing.
func NewLog(insert func(context.Context, []Denial) error, size int) *Log {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Log{insert: insert, queue: make(chan Denial, size), giveUp: cancel, done: make(chan struct{})}
	go l.write(ctx)
	return l
}

// Add takes a row, or drops it where the queue is full or the log is closed.
func (l *Log) Add(d Denial) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		l.dropped.Add(1)
		return
	}
	select {
	case l.queue <- d:
	default:
		l.dropped.Add(1)
	}
}

// Close writes what is in the queue. When ctx is done before that, it gives up,
// and its error says how many rows are lost.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.queue)
	}
	l.mu.Unlock()
	before := l.dropped.Load()
	select {
	case <-l.done:
	case <-ctx.Done():
		l.giveUp()
		<-l.done
	}
	if lost := l.dropped.Load() - before; lost > 0 {
		return fmt.Errorf("audit log: %d denials are lost", lost)
	}
	return nil
}

// write runs until the queue is closed and empty, or ctx is done.
func (l *Log) write(ctx context.Context) {
	defer close(l.done)
	batch := make([]Denial, 0, maxBatch)
	for d := range l.queue {
		batch = l.fill(append(batch, d))
		if !l.keepTrying(ctx, batch) {
			break
		}
		l.written.Add(int64(len(batch)))
		batch = batch[:0]
	}
	l.dropped.Add(int64(len(batch)))
	for range l.queue {
		l.dropped.Add(1)
	}
}

// fill adds to a batch what the queue has, without waiting for more.
func (l *Log) fill(batch []Denial) []Denial {
	for len(batch) < maxBatch {
		select {
		case d, ok := <-l.queue:
			if !ok {
				return batch
			}
			batch = append(batch, d)
		default:
			return batch
		}
	}
	return batch
}

// keepTrying inserts the batch, again and again until ctx is done, and reports
// whether it did.
func (l *Log) keepTrying(ctx context.Context, batch []Denial) bool {
	for {
		err := l.insert(ctx, batch)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		slog.Error("denials not written", "rows", len(batch), "dropped", l.dropped.Load(), "err", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
	}
}
