// Package breaker keeps callers away from a server that does not answer, so that
// they do not wait for it one after the other.
package breaker

import (
	"sync"
	"sync/atomic"
	"time"
)

// What Settings mean where they say nothing.
const (
	DefaultFailures = 5
	DefaultInterval = 500 * time.Millisecond
)

// soon is the interval after a probe that never reached the network.
const soon = 50 * time.Millisecond

// Settings of a Breaker. The zero value is ready to use.
type Settings struct {
	// Failures is how many calls fail in a row, none of them answered, before the
	// breaker opens; 0 is DefaultFailures, below 0 it never opens.
	Failures int
	// Interval is the time between two probes; 0 is DefaultInterval.
	Interval time.Duration
}

// A Breaker guards one server. Closed, it lets every call through. It opens when
// calls about two keys at least have failed in a row, and then lets one call
// per interval through: a real one, the probe. It closes at once when any call is
// answered. It is safe for concurrent use, starts no goroutine and holds no lock
// while a call is under way.
//
// A failed call counts only where nobody had an answer while it was waiting: a
// server that is slow or overloaded, and answers some, is left alone.
type Breaker struct {
	failures int
	interval int64
	start    time.Time
	next     atomic.Int64  // 0 while closed; otherwise the instant of the next probe
	answers  atomic.Uint64 // so far
	changes  atomic.Int64  // openings and closings so far

	mu  sync.Mutex
	run run
}

// A run is failed calls with no answer between them.
type run struct {
	answers  uint64 // before the first one
	failures int
	key      uint64 // of the first one
	several  bool   // another was about another key
}

// New returns a closed Breaker.
func New(s Settings) *Breaker {
	b := &Breaker{failures: s.Failures, interval: int64(s.Interval), start: time.Now()}
	if s.Failures == 0 {
		b.failures = DefaultFailures
	}
	if s.Interval <= 0 {
		b.interval = int64(DefaultInterval)
	}
	return b
}

// now is in nanoseconds since the breaker was made.
func (b *Breaker) now() int64 { return int64(time.Since(b.start)) }

// Open reports whether a call would be turned away. It takes no probe's place.
func (b *Breaker) Open() bool {
	next := b.next.Load()
	return next != 0 && b.now() < next
}

// State tells whether the breaker is open, probes or not, and how often it has
// opened and closed.
func (b *Breaker) State() (open bool, changes int64) {
	return b.next.Load() != 0, b.changes.Load()
}

// A Call is one that was let through.
type Call struct{ answers uint64 }

// Begin asks for a call. One that is let through may end in Answered or Failed;
// where it says nothing about the server, in neither.
func (b *Breaker) Begin() (c Call, ok bool) {
	if next := b.next.Load(); next != 0 {
		now := b.now()
		if now < next || !b.next.CompareAndSwap(next, now+b.interval) {
			return c, false
		}
	}
	return Call{b.answers.Load()}, true
}

// Answered tells that the server has answered, whatever it said.
func (b *Breaker) Answered(Call) {
	b.answers.Add(1)
	b.close()
}

func (b *Breaker) close() {
	if b.next.Load() != 0 && b.next.Swap(0) != 0 {
		b.changes.Add(1)
	}
}

// Failed tells that the call about that key got no answer. idle: nothing was
// sent and nobody dialled, so that the next probe may come soon.
func (b *Breaker) Failed(c Call, key uint64, idle bool) {
	if b.failures < 0 || b.answers.Load() != c.answers {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if next := b.next.Load(); next != 0 {
		if idle {
			b.next.CompareAndSwap(next, min(next, b.now()+int64(soon)))
		}
		return
	}
	r := &b.run
	if r.failures == 0 || r.answers != c.answers {
		*r = run{answers: c.answers, key: key}
	}
	r.failures++
	r.several = r.several || key != r.key
	if r.failures < b.failures || !r.several {
		return
	}
	*r = run{}
	b.next.Store(b.now() + b.interval)
	b.changes.Add(1)
	if b.answers.Load() != c.answers { // it came between and did not see it open
		b.close()
	}
}
