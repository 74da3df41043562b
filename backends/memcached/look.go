package memcachedlimit

import (
	"crypto/rand"
	"fmt"

	"github.com/bradfitz/gomemcache/memcache"
)

// A call is a Take or Settle under way.
type call struct {
	b *Backend
	*lane
	at, now int64
}

// begin notes the instant: the caller's, or that of the clock.
func (k *call) begin() {
	if k.now = k.at; k.at == 0 {
		k.now = k.b.clock.now()
	}
}

// look reads cells, all of them in one round trip. Each that could not be read
// has its own error.
func (k *call) look(cells ...*cell) {
	if len(cells) == 1 && cells[0].count == 0 && cells[0].err == nil {
		k.lookAtItem(cells[0])
		return
	}
	k.date(cells)
	var all []string
	ends := make([]int, len(cells)) // of the keys of each cell
	for i, c := range cells {
		if c.err == nil {
			all = append(all, c.keys(k.now)...)
		}
		ends[i] = len(all)
	}
	if len(all) == 0 {
		return
	}
	items, err := k.get(all)
	if err != nil && len(cells) > 1 { // of whom it was is not known
		for _, c := range cells {
			if c.err == nil {
				k.look(c)
			}
		}
		return
	}
	first := 0
	for i, c := range cells {
		if c.err == nil {
			if c.err = err; err == nil {
				c.read(all[first:ends[i]], items)
			}
		}
		first = ends[i]
	}
}

// lookAtItem is look for one cell that is one item.
func (k *call) lookAtItem(c *cell) {
	item, err := k.one(c.name)
	if err != nil {
		c.err = err
		return
	}
	c.hold(item)
}

// date finds the epochs of counters with explicit instants. An explicit instant
// may be any, so nobody knows what counters such a cell has; a Reset forgets
// their epoch, and the next one starts with other keys.
func (k *call) date(cells []*cell) {
	for _, c := range cells {
		if !c.explicit || c.count == 0 || c.err != nil || c.epoch != "" {
			continue
		}
		c.epoch, c.err = k.epochOf(c)
	}
}

func (k *call) epochOf(c *cell) (string, error) {
	for range attempts {
		item, err := k.one(c.name)
		if err != nil {
			return "", err
		}
		if item != nil {
			if epoch := string(item.Value); isEpoch(epoch) {
				return epoch, nil
			}
			return "", foreign(c.name)
		}
		epoch := rand.Text()[:epochLength]
		outlives := c.Cell.Space.Window() + longestRelative*1e6
		done, err := k.add(&memcache.Item{Key: c.name, Value: []byte(epoch), Expiration: expiry(outlives, true)})
		if err != nil || done {
			return epoch, err
		}
	}
	return "", fmt.Errorf("memcachedlimit: %w", ErrContention)
}

// epochLength is how many letters of 5 random bits an epoch has.
const epochLength = 12

func isEpoch(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return false
		}
	}
	return len(s) == epochLength
}

// attempts is how often a counter or an epoch is looked for that others delete
// while it is being made.
const attempts = 3

// charge adds units to the current counter of a cell and returns what was in it
// before.
func (k *call) charge(c *cell, units int64) (before int64, err error) {
	key := c.counter(c.number)
	for range attempts {
		after, ok, err := k.incr(key, uint64(units))
		if err != nil || ok {
			return after - units, err
		}
		rest := c.gone(c.number, c.phase) - k.now
		done, err := k.add(&memcache.Item{Key: key, Value: fmt.Append(nil, units), Expiration: expiry(rest, c.explicit)})
		if err != nil || done {
			return 0, err
		}
	}
	return 0, fmt.Errorf("memcachedlimit: %w: counter %s", ErrContention, key)
}
