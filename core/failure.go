package core

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// errHook: a hook or a function of the application misbehaved.
var errHook = errors.New("hook failed")

// statusOf is the status of the answer to a request that could not be decided.
// Nothing here opens the door: what can not be decided is refused.
func statusOf(err error) int {
	switch {
	case errors.Is(err, ErrBodyTooLarge):
		return 413
	case errors.Is(err, ErrBodyEncoding):
		return 415
	case errors.Is(err, ErrBodyBroken), errors.Is(err, ErrIdentity):
		return 400
	case errors.Is(err, errHook):
		return 500
	}
	return 503
}

// recoverHook turns the panic of a hook into an error. The panic with which
// net/http handlers abort a response is not a failure and goes on.
func recoverHook(err *error) {
	p := recover()
	if p == nil {
		return
	}
	if e, ok := p.(error); ok && e.Error() == "net/http: abort Handler" {
		panic(p)
	}
	*err = fmt.Errorf("%w: panic: %v", errHook, p)
}

// complaints log what went wrong, each kind once a minute: whoever can provoke
// an error must not be able to flood the log.
type complaints struct {
	logger *slog.Logger
	mu     sync.Mutex
	last   map[int]time.Time
}

const complaintsEvery = time.Minute

// about logs err. Errors that a client causes alone are its own business and are
// answered, not logged.
func (c *complaints) about(err error) {
	status := statusOf(err)
	if status < 500 {
		return
	}
	c.mu.Lock()
	now := time.Now()
	silent := now.Sub(c.last[status]) < complaintsEvery
	if !silent {
		if c.last == nil {
			c.last = make(map[int]time.Time)
		}
		c.last[status] = now
	}
	c.mu.Unlock()
	if silent {
		return
	}
	logger := c.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Error("request could not be decided and was refused", "status", status, "err", err)
}
