package core

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// errHook: a hook or a function of the application misbehaved.
var errHook = errors.New("hook failed")

// fail answers a request that could not be decided. The fields of a Decision are
// sent where the backend is to blame; otherwise there is none.
func (l *Limiter) fail(n Native, v *Visit, err error) {
	v.Pass, v.Response = false, failure(statusOf(err))
	if !v.Decision.closed {
		l.failed("", err)
		v.Decision = Decision{}
	} else if w, ok := n.(DecisionWriter); ok {
		w.WriteDecision(v.Decision)
	}
}

// statusOf is the status of the answer to a request that could not be decided.
// Nothing here opens the door: what can not be decided is refused, unless the
// backend is down and the policy says otherwise.
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
	if isAbort(p) {
		panic(p)
	}
	*err = &hookPanic{value: p, stack: debug.Stack()}
}

// recoverAll is recoverHook where no panic may go on: nobody may be there to catch
// it, or there is something left to do.
func recoverAll(err *error) {
	if p := recover(); p != nil {
		*err = &hookPanic{value: p, stack: debug.Stack()}
	}
}

// isAbort recognises http.ErrAbortHandler, which core can not import. Even
// looking at what somebody panicked with may panic.
func isAbort(p any) (is bool) {
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	err, ok := p.(error)
	return ok && err.Error() == "net/http: abort Handler"
}

// A hookPanic is the panic of a hook.
type hookPanic struct {
	value any
	stack []byte
}

func (e *hookPanic) Error() string { return fmt.Sprintf("%v: panic: %v", errHook, e.value) }
func (e *hookPanic) Unwrap() error { return errHook }

// complaints log what went wrong, each kind once a minute: whoever can provoke
// an error must not be able to flood the log.
type complaints struct {
	logger *slog.Logger
	mu     sync.Mutex
	last   map[Class]time.Time
}

const complaintsEvery = time.Minute

// about logs err. Errors that a client causes alone are its own business and are
// answered, not logged; that nobody's address is known is the set-up's.
func (c *complaints) about(err error) {
	status, class := statusOf(err), ClassOf(err)
	if status < 500 && !errors.Is(err, errNoAddress) {
		return
	}
	c.mu.Lock()
	now := time.Now()
	silent := now.Sub(c.last[class]) < complaintsEvery
	if !silent {
		if c.last == nil {
			c.last = make(map[Class]time.Time)
		}
		c.last[class] = now
	}
	c.mu.Unlock()
	if silent {
		return
	}
	args := []any{"status", status, "class", class.String(), "err", err}
	if p := (*hookPanic)(nil); errors.As(err, &p) {
		args = append(args, "stack", string(p.stack))
	}
	c.to().Error("request could not be decided", args...)
}

// to is the logger.
func (c *complaints) to() *slog.Logger {
	if c.logger == nil {
		return slog.Default()
	}
	return c.logger
}
