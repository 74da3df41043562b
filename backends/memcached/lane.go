package memcachedlimit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// A lane is what one call at a time uses: a client with at most one connection
// to each server, and the deadline of the call. gomemcache knows neither contexts
// nor deadlines, only one time-out per command for all that share a client. A
// client to itself lets a call have its own, for all its commands together, and
// without a goroutine to watch over it.
type lane struct {
	client   *memcache.Client
	deadline time.Time
	turn     uint64 // counts the calls
	broken   bool   // its connections may be out of step
}

// lanes are those that wait for the next call, the last used on top.
type lanes struct {
	selector memcache.ServerSelector
	timeout  time.Duration
	most     int

	mu   sync.Mutex
	idle []*lane
}

// enter gives a call its lane.
func (s *lanes) enter(ctx context.Context) *lane {
	l := s.pop()
	if l == nil {
		l = &lane{client: memcache.NewFromSelector(s.selector)}
		l.client.DialContext = l.dial
		l.client.MaxIdleConns = 1
		l.client.Timeout = s.timeout
	}
	l.turn++
	l.deadline = time.Now().Add(s.timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(l.deadline) {
		l.deadline = d
	}
	return l
}

func (s *lanes) pop() *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.idle) - 1
	if last < 0 {
		return nil
	}
	l := s.idle[last]
	s.idle[last] = nil
	s.idle = s.idle[:last]
	return l
}

// leave ends a call.
func (s *lanes) leave(l *lane) {
	if !l.broken && s.push(l) {
		return
	}
	_ = l.client.Close()
}

func (s *lanes) push(l *lane) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.idle) >= s.most {
		return false
	}
	s.idle = append(s.idle, l)
	return true
}

func (s *lanes) close() error {
	s.mu.Lock()
	idle := s.idle
	s.idle = nil
	s.mu.Unlock()
	var errs []error
	for _, l := range idle {
		errs = append(errs, l.client.Close())
	}
	return errors.Join(errs...)
}

// The commands. Each is sent once at most, and none after the deadline.

// get reads items; those that are not there are not in the answer. gomemcache
// reads several on goroutines of its own, one per server, and waits for them.
func (l *lane) get(keys []string) (items map[string]*memcache.Item, err error) {
	if len(keys) == 1 {
		item, err := l.one(keys[0])
		if item == nil {
			return nil, err
		}
		return map[string]*memcache.Item{keys[0]: item}, nil
	}
	if err = l.ready(); err != nil {
		return nil, err
	}
	defer l.guard(&err)
	items, err = l.client.GetMulti(keys)
	return items, l.failed(err)
}

// one reads an item, nil where there is none.
func (l *lane) one(key string) (item *memcache.Item, err error) {
	if err = l.ready(); err != nil {
		return nil, err
	}
	defer l.guard(&err)
	if item, err = l.client.Get(key); err == memcache.ErrCacheMiss {
		return nil, nil
	}
	return item, l.failed(err)
}

// add creates an item and tells whether it did: otherwise there was one.
func (l *lane) add(item *memcache.Item) (done bool, err error) {
	return l.store(item, l.client.Add)
}

// replace writes an item that was read, if nobody has written it since.
func (l *lane) replace(item *memcache.Item) (done bool, err error) {
	return l.store(item, l.client.CompareAndSwap)
}

func (l *lane) store(item *memcache.Item, command func(*memcache.Item) error) (done bool, err error) {
	if err = l.ready(); err != nil {
		return false, err
	}
	defer l.guard(&err)
	switch err = command(item); err {
	case nil:
		return true, nil
	case memcache.ErrNotStored, memcache.ErrCASConflict, memcache.ErrCacheMiss:
		return false, nil
	}
	return false, l.failed(err)
}

// incr adds to a counter and returns what it then holds; ok is false where there
// is none. A counter that can not be one of ours is left as it was.
func (l *lane) incr(key string, n uint64) (count int64, ok bool, err error) {
	if err = l.ready(); err != nil {
		return 0, false, err
	}
	defer l.guard(&err)
	v, err := l.client.Increment(key, n)
	switch {
	case err == memcache.ErrCacheMiss:
		return 0, false, nil
	case err != nil:
		return 0, false, l.notNumeric(key, err)
	case v > maxWord || v < n: // too much, or once round 2^64
		if _, err = l.client.Increment(key, -n); err != nil {
			return 0, false, l.failed(err)
		}
		return 0, false, foreign(key)
	}
	return int64(v), true, nil
}

// decr takes from a counter, down to 0 at most. One that is not there stays so.
func (l *lane) decr(key string, n uint64) (err error) {
	if err = l.ready(); err != nil {
		return err
	}
	defer l.guard(&err)
	_, err = l.client.Decrement(key, n)
	if err == nil || err == memcache.ErrCacheMiss {
		return nil
	}
	return l.notNumeric(key, err)
}

func (l *lane) delete(key string) (err error) {
	if err = l.ready(); err != nil {
		return err
	}
	defer l.guard(&err)
	if err = l.client.Delete(key); err == nil || err == memcache.ErrCacheMiss {
		return nil
	}
	return l.failed(err)
}

// ready tells whether there is time to send anything.
func (l *lane) ready() error {
	if time.Now().Before(l.deadline) {
		return nil
	}
	return fmt.Errorf("memcachedlimit: %w", ErrPool)
}

// guard turns a panic of gomemcache, which replies of one byte can cause, into
// what it is.
func (l *lane) guard(err *error) {
	if p := recover(); p != nil {
		l.broken = true
		*err = fmt.Errorf("memcachedlimit: %w: a reply that gomemcache can not read (%v)", errGarbage, p)
	}
}

const maxWord = 1<<53 - 1 // the largest number in a state: see core.State
