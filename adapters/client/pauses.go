package clientlimit

import (
	"context"
	"sync"
	"time"

	"github.com/stint-go/stint/core"
)

// pauses are the keys that servers have asked to wait, and until when.
type pauses struct {
	mu    sync.Mutex
	until map[core.Key]time.Time
}

// maxPauses bounds what servers can make a client remember.
const maxPauses = 4096

// set has requests of the key wait from now on. A longer pause stays.
func (p *pauses) set(key core.Key, pause time.Duration) {
	end := time.Now().Add(pause)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = make(map[core.Key]time.Time)
	}
	if len(p.until) >= maxPauses {
		p.prune()
	}
	if end.After(p.until[key]) {
		p.until[key.Clone()] = end
	}
}

// prune forgets what is over, and where that is little, anything: a quarter at once,
// so that it is rarely done.
func (p *pauses) prune() {
	for key, end := range p.until {
		if !time.Now().Before(end) {
			delete(p.until, key)
		}
	}
	for key := range p.until {
		if len(p.until) < maxPauses*3/4 {
			return
		}
		delete(p.until, key)
	}
}

// left is how long requests of the key still have to wait.
func (p *pauses) left(key core.Key) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	end, found := p.until[key]
	if !found {
		return 0
	}
	left := time.Until(end)
	if left <= 0 {
		delete(p.until, key)
	}
	return max(left, 0)
}

// wait returns when the key's pause is over, also one that is prolonged meanwhile.
func (p *pauses) wait(ctx context.Context, key core.Key) error {
	for {
		left := p.left(key)
		if left == 0 {
			return ctx.Err()
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) < left {
			return tooLate(left)
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
