package redislimit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
)

// The kinds of error beyond core's, to be tested with errors.Is. All of them are
// core.ErrUnavailable as well, and of a core.Class; ErrConfig's is the one that no
// failure policy forgives. After ErrOutOfMemory, ErrConfig, ErrBusy, ErrReadOnly
// and ErrOpen nothing was charged; after a plain core.ErrUnavailable that is unknown.
var (
	// ErrOutOfMemory: the server's maxmemory is reached and it evicts nothing.
	ErrOutOfMemory = core.NewUnavailable(core.ClassOOM, "redis is out of memory")
	// ErrBusy: another client's script has occupied the server for long.
	ErrBusy = core.NewUnavailable(core.ClassBusy, "redis is busy with a script")
	// ErrReadOnly: the server is a replica, is loading its data, can not save it,
	// lacks the replicas that it insists on, or its cluster is incomplete.
	ErrReadOnly = core.NewUnavailable(core.ClassReadOnly, "redis does not take writes")
	// ErrConfig: the server refuses this client, or the client the server:
	// password, permissions, certificates, too many clients, a command that it
	// does not have. Where only some of the commands of a script are allowed, the
	// asks before the one that met a forbidden command were charged.
	ErrConfig = core.NewUnavailable(core.ClassConfig, "redis refuses this client")
	// ErrPool: the client had no connection in time: all in its pool were in use,
	// or dialling took too long. Nothing was sent.
	ErrPool = core.NewUnavailable(core.ClassPool, "no connection in time")
	// ErrOpen: the server has not answered the last calls, and was not asked. See
	// Options.BreakAfter. Nothing was charged.
	ErrOpen = core.NewUnavailable(core.ClassOpen, "redis did not answer before, and is left alone")
	// ErrClosed: the client was closed.
	ErrClosed = core.NewUnavailable(core.ClassClosed, "redis client is closed")
	// ErrContention: a rule without a Program met so many others on its cells
	// that it could not be applied. Nothing was charged.
	ErrContention = core.NewUnavailable(core.ClassContention, "cells changed again and again")
)

// unbounded is for replies that only the time-out ends.
const unbounded = 1 << 30

// refusals are replies after which nothing was done, by their first word.
var refusals = []struct {
	prefix string
	kind   error
	tries  int // how often a command is sent that gets this reply
}{
	{"TRYAGAIN", ErrReadOnly, unbounded}, // a slot is on its way
	{"MOVED", ErrReadOnly, unbounded},
	{"ASK", ErrReadOnly, unbounded},
	{"READONLY", ErrReadOnly, 4},
	{"LOADING", ErrReadOnly, 4},
	{"MASTERDOWN", ErrReadOnly, 4},
	{"CLUSTERDOWN", ErrReadOnly, 4},
	{"NOREPLICAS", ErrReadOnly, 1},
	{"MISCONF", ErrReadOnly, 1},
	{"BUSY", ErrBusy, 1},
	{"OOM", ErrOutOfMemory, 1},
	{"NOAUTH", ErrConfig, 1},
	{"WRONGPASS", ErrConfig, 1},
	{"NOPERM", ErrConfig, 1},
	{"NOSCRIPT", ErrConfig, 1},
	{"unknown command", ErrConfig, 1},
	{"Unknown Redis command", ErrConfig, 1}, // within a script
	{"max number of clients", ErrConfig, 1},
	{"DENIED", ErrConfig, 1},
	{"AUTH", ErrConfig, 1},
	{"The user executing the script can't run", ErrConfig, 1},
}

// refusal is what a reply proves, if it proves that nothing was done, and how
// often a command that gets it is sent.
func refusal(err error) (tries int, kind error) {
	if _, ok := errors.AsType[redis.Error](err); !ok {
		return 1, nil
	}
	text := err.Error()
	for _, r := range refusals {
		// Redis before 7 wraps what a script met: "ERR Error running script
		// (call to f_...): @user_script:12: -OOM command not allowed ...".
		if redis.HasErrorPrefix(err, r.prefix) || strings.Contains(text, ": -"+r.prefix+" ") ||
			strings.HasPrefix(text, "ERR "+r.prefix) {
			return r.tries, r.kind
		}
	}
	return 1, nil
}

// kindOf names what went wrong in a call that failed.
func kindOf(err error) error {
	if _, kind := refusal(err); kind != nil {
		return kind
	}
	switch {
	case untrusted(err):
		return ErrConfig
	case errors.Is(err, redis.ErrClosed):
		return ErrClosed
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted),
		errors.Is(err, context.DeadlineExceeded): // of a socket it would be a net.Error
		return ErrPool
	}
	if _, ok := errors.AsType[redis.Error](err); ok {
		return core.ErrProtocol // a reply that no version known gives to this script
	}
	return core.ErrUnavailable
}

// untrusted tells whether client and server can not agree on TLS: a certificate
// that has expired or is not trusted, on either side, or another version. The
// server has read nothing then.
func untrusted(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	remote, ok := errors.AsType[*net.OpError](err)
	return ok && remote.Op == "remote error" && slices.ContainsFunc(handshakeAlerts, func(text string) bool {
		return strings.Contains(remote.Err.Error(), text)
	})
}

// handshakeAlerts are from the texts of those alerts that end a handshake:
// crypto/tls does not export their type.
var handshakeAlerts = []string{"certificate", "handshake failure", "protocol version", "access denied", "insufficient security", "unrecognized name"}

// fail wraps what the client answered. Errors of this package never hold keys,
// which are personal data, only their names in Redis; nor passwords.
func (b *Backend) fail(doing string, err error) error {
	if err == errOpen { // made once, so that it costs nothing
		return err
	}
	return fmt.Errorf("redislimit: %s: %w: %w", doing, kindOf(err), err)
}

// foreign is the error of a cell that holds what this library did not write.
func foreign(name string) error {
	return fmt.Errorf("redislimit: %w: key %s", core.ErrProtocol, name)
}
