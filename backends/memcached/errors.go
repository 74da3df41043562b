package memcachedlimit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stint-go/stint/core"
)

// The kinds of error beyond core's, to be tested with errors.Is. All of them are
// core.ErrUnavailable as well. After ErrOutOfMemory, ErrConfig and ErrContention
// nothing was charged; after a plain core.ErrUnavailable that is unknown.
var (
	// ErrOutOfMemory: the server has no room and evicts nothing (-M), or no room
	// for items of this size.
	ErrOutOfMemory = core.NewUnavailable(core.ClassOOM, "memcached is out of memory")
	// ErrConfig: the server refuses this client: it wants a password, has too many
	// clients, or does not have a command. Or there is no server at all.
	ErrConfig = core.NewUnavailable(core.ClassConfig, "memcached refuses this client")
	// ErrPool: there was no connection in time, or no time left to use it. The
	// command that it was for was not sent.
	ErrPool = core.NewUnavailable(core.ClassPool, "no connection in time")
	// ErrContention: a cell that is charged by compare-and-swap was changed by
	// others again and again; a counter was gone each time that it was to be
	// charged; or sub-windows ended faster than the store answers.
	ErrContention = core.NewUnavailable(core.ClassContention, "cells changed again and again")
)

// errGarbage is what the server said that is not memcached's protocol.
var errGarbage = fmt.Errorf("not memcached's protocol: %w", core.ErrProtocol)

// failed wraps what gomemcache answered. Errors of this package never hold keys,
// which are personal data, only their names in memcached.
func (l *lane) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("memcachedlimit: %w: %w", kindOf(err), err)
}

// kindOf names what went wrong in a command that failed. gomemcache gives the
// reply of the server as text.
func kindOf(err error) error {
	text := err.Error()
	if _, ok := errors.AsType[*memcache.ConnectTimeoutError](err); ok {
		return ErrPool
	}
	switch {
	case errors.Is(err, memcache.ErrNoServers):
		return ErrConfig
	case strings.Contains(text, "SERVER_ERROR out of memory"), strings.Contains(text, "SERVER_ERROR object too large"):
		return ErrOutOfMemory
	case strings.Contains(text, "SERVER_ERROR"):
		return core.ErrUnavailable
	case strings.Contains(text, `"ERROR`), strings.Contains(text, "unauthenticated"):
		return ErrConfig
	case strings.HasPrefix(text, "memcache: "), strings.HasPrefix(text, "strconv."), errors.Is(err, memcache.ErrMalformedKey):
		return errGarbage
	}
	return core.ErrUnavailable
}

// notNumeric is failed for commands that count.
func (l *lane) notNumeric(key string, err error) error {
	if strings.Contains(err.Error(), "non-numeric value") {
		return foreign(key)
	}
	return l.failed(err)
}

// foreign is the error of an item that holds what this library did not write.
func foreign(key string) error {
	return fmt.Errorf("memcachedlimit: %w: key %s", core.ErrProtocol, key)
}
