package main

import (
	"container/list"
	"sync"
	"time"
)

// A cache keeps the accounts that were used last, at most max of them and none
// for longer than ttl. It is safe for concurrent use.
type cache struct {
	max int
	ttl time.Duration
	now func() time.Time

	mu        sync.Mutex
	entries   map[digest]*list.Element
	order     *list.List // of entry, the last used in front
	forgotten uint64     // how often forget was called
}

type entry struct {
	key   digest
	value account
	until time.Time
}

func newCache(max int, ttl time.Duration, now func() time.Time) *cache {
	return &cache{max: max, ttl: ttl, now: now, entries: make(map[digest]*list.Element), order: list.New()}
}

func (c *cache) get(key digest) (account, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.entries[key]
	if at == nil {
		return account{}, false
	}
	e := at.Value.(entry)
	if !c.now().Before(e.until) {
		c.remove(at)
		return account{}, false
	}
	c.order.MoveToFront(at)
	return e.value, true
}

// version is to be asked before the database, and given to put.
func (c *cache) version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.forgotten
}

// put keeps what the database said since version, unless something was forgotten
// meanwhile: then that may be what the answer still knows.
func (c *cache) put(key digest, value account, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version != c.forgotten {
		return
	}
	if at := c.entries[key]; at != nil {
		c.remove(at)
	}
	c.entries[key] = c.order.PushFront(entry{key, value, c.now().Add(c.ttl)})
	if len(c.entries) > c.max {
		c.remove(c.order.Back())
	}
}

func (c *cache) forget(key digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten++
	if at := c.entries[key]; at != nil {
		c.remove(at)
	}
}

func (c *cache) remove(at *list.Element) {
	delete(c.entries, c.order.Remove(at).(entry).key)
}
