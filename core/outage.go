package core

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// An outage is what a policy knows of its backend being down, for the log: it
// tells when that begins and when it is over, and once a minute that it goes on.
type outage struct {
	on       atomic.Bool // read by every decision
	mu       sync.Mutex
	since    time.Time
	last     time.Time // the latest failure
	told     time.Time
	failures int
}

// calmAfter is how long there must have been no failure for an outage to be over.
// Where one of several servers is down, failures and decisions alternate.
const calmAfter = 10 * time.Second

// failed notes that the backend could not decide, and reports whether that is new.
func (o *outage) failed(log *slog.Logger, p *policy, mode FailureMode, err error) (begins bool) {
	now := time.Now()
	o.mu.Lock()
	begins = !o.on.Load()
	if begins {
		o.since, o.told, o.failures = now, now, 0
		o.on.Store(true)
	}
	o.failures++
	o.last = now
	goesOn := now.Sub(o.told) >= complaintsEvery
	if goesOn {
		o.told = now
	}
	failures, lasts := o.failures, now.Sub(o.since)
	o.mu.Unlock()
	switch args := []any{"policy", p.name, "on_failure", mode.String(), "class", ClassOf(err).String(), "err", err}; {
	case begins:
		log.Warn("backend down: policy degraded", args...)
	case goesOn:
		log.Warn("backend down: policy still degraded", append(args, "failures", failures, "for", lasts)...)
	}
	return begins
}

// calm notes that the backend has decided, and reports whether that ends an outage.
func (o *outage) calm(log *slog.Logger, p *policy) (over bool) {
	now := time.Now()
	o.mu.Lock()
	over = o.on.Load() && now.Sub(o.last) >= calmAfter
	failures, lasted := o.failures, o.last.Sub(o.since)
	if over {
		o.on.Store(false)
	}
	o.mu.Unlock()
	if over {
		log.Warn("backend back: policy no longer degraded", "policy", p.name, "failures", failures, "for", lasted)
	}
	return over
}
