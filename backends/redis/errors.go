package redislimit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
)

// The kinds of error beyond core's, to be tested with errors.Is. All of them are
// core.ErrUnavailable as well. After ErrOutOfMemory, ErrConfig, ErrBusy and
// ErrReadOnly nothing was charged; after a plain core.ErrUnavailable that is
// unknown.
var (
	// ErrOutOfMemory: the server's maxmemory is reached and it evicts nothing.
	ErrOutOfMemory = fmt.Errorf("redis is out of memory: %w", core.ErrUnavailable)
	// ErrBusy: another client's script has occupied the server for long.
	ErrBusy = fmt.Errorf("redis is busy with a script: %w", core.ErrUnavailable)
	// ErrReadOnly: the server is a replica, is loading its data, lacks the
	// replicas that it insists on, or its cluster is incomplete.
	ErrReadOnly = fmt.Errorf("redis does not take writes: %w", core.ErrUnavailable)
	// ErrConfig: the server refuses this client: password, permissions, too many
	// clients, a command that it does not have.
	ErrConfig = fmt.Errorf("redis refuses this client: %w", core.ErrUnavailable)
	// ErrPool: the client's pool had no connection to spare in time. Nothing was
	// sent. Raise PoolSize, or find what holds the connections.
	ErrPool = fmt.Errorf("no connection in the pool: %w", core.ErrUnavailable)
	// ErrClosed: the client was closed.
	ErrClosed = fmt.Errorf("redis client is closed: %w", core.ErrUnavailable)
	// ErrContention: a rule without a Program met so many others on its cells
	// that it could not be applied. Nothing was charged.
	ErrContention = fmt.Errorf("cells changed again and again: %w", core.ErrUnavailable)
)

// refusals are replies after which nothing was done, by their first word.
var refusals = []struct {
	prefix string
	kind   error
	again  bool // worth another try, at once
}{
	{"READONLY", ErrReadOnly, true},
	{"LOADING", ErrReadOnly, true},
	{"MASTERDOWN", ErrReadOnly, true},
	{"CLUSTERDOWN", ErrReadOnly, true},
	{"TRYAGAIN", ErrReadOnly, true},
	{"MOVED", ErrReadOnly, true},
	{"ASK", ErrReadOnly, true},
	{"NOREPLICAS", ErrReadOnly, false},
	{"BUSY", ErrBusy, false},
	{"OOM", ErrOutOfMemory, false},
	{"NOAUTH", ErrConfig, false},
	{"WRONGPASS", ErrConfig, false},
	{"NOPERM", ErrConfig, false},
	{"NOSCRIPT", ErrConfig, false},
	{"unknown command", ErrConfig, false},
	{"max number of clients", ErrConfig, false},
	{"DENIED", ErrConfig, false},
	{"AUTH", ErrConfig, false},
	{"The user executing the script can't run", ErrConfig, false},
}

// refusal is what a reply proves, if it proves that nothing was done.
func refusal(err error) (kind error, again bool) {
	if _, ok := errors.AsType[redis.Error](err); !ok {
		return nil, false
	}
	text := err.Error()
	for _, r := range refusals {
		// Redis before 7 wraps what a script met: "ERR Error running script
		// (call to f_...): @user_script:12: -OOM command not allowed ...".
		if redis.HasErrorPrefix(err, r.prefix) || strings.Contains(text, ": -"+r.prefix+" ") ||
			strings.HasPrefix(text, "ERR "+r.prefix) {
			return r.kind, r.again
		}
	}
	return nil, false
}

// kindOf names what went wrong in a call that failed.
func (b *Backend) kindOf(err error) error {
	if kind, _ := refusal(err); kind != nil {
		return kind
	}
	switch {
	case errors.Is(err, redis.ErrClosed):
		return ErrClosed
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return ErrPool
	case errors.Is(err, context.DeadlineExceeded) && b.poolIsFull():
		return ErrPool
	}
	if _, ok := errors.AsType[redis.Error](err); ok {
		return core.ErrProtocol // a reply that no version known gives to this script
	}
	return core.ErrUnavailable
}

// poolIsFull tells of a client of one server whether it waits for a connection
// because all of them are in use.
func (b *Backend) poolIsFull() bool {
	c, ok := b.client.(*redis.Client)
	if !ok {
		return false
	}
	s, size := c.PoolStats(), c.Options().PoolSize
	return size > 0 && int(s.TotalConns) >= size && s.IdleConns == 0
}

// fail wraps what the client answered. Errors of this package never hold keys,
// which are personal data, only their names in Redis; nor passwords.
func (b *Backend) fail(doing string, err error) error {
	return fmt.Errorf("redislimit: %s: %w: %w", doing, b.kindOf(err), err)
}

// foreign is the error of a cell that holds what this library did not write.
func foreign(name string) error {
	return fmt.Errorf("redislimit: %w: key %s", core.ErrProtocol, name)
}
