package memcachedlimit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stint-go/stint/core"
)

// swaps is how often a change is tried before it gives up with ErrContention; the
// time-out may end it earlier.
const swaps = 1000

// swap changes a cell that is one item: as it was looked at, and where somebody
// came between, as it is then. change returns the next state, or false to leave
// it alone, and c.state as it is. c.state is what the change was made of.
func (k *call) swap(c *cell, change func(core.State) (core.State, bool)) error {
	for try := range swaps {
		next, wanted := change(c.state)
		if !wanted {
			return nil
		}
		done, err := k.write(c, next)
		if err != nil || done {
			return contended(try, err)
		}
		yield(try)
		if k.look(c); c.err != nil {
			return contended(try+1, c.err)
		}
	}
	return fmt.Errorf("memcachedlimit: %w", ErrContention)
}

// write writes the state if the cell is still as it was read.
func (k *call) write(c *cell, s core.State) (done bool, err error) {
	value, rest := appendState(make([]byte, 0, 64), c.Rule, s), int64(0)
	switch {
	case len(value) > maxValue:
		return false, fmt.Errorf("memcachedlimit: %w: the state of %s takes %d bytes, and an item of memcached %d",
			core.ErrUnsupported, c.name, len(value), maxValue)
	case len(value) > 0:
		rest = c.Rule.Until(s) - k.now
	case c.item == nil:
		return true, nil
	}
	expiration := expiry(rest, c.explicit)
	if c.item == nil {
		return k.add(&memcache.Item{Key: c.name, Value: value, Expiration: expiration})
	}
	return k.replace(&memcache.Item{Key: c.name, Value: value, Expiration: expiration, CasID: c.item.CasID})
}

// yield lets others go first where many want the same cell: without chance in it,
// all would meet again.
func yield(try int) {
	if try > 1 {
		time.Sleep(rand.N(time.Duration(min(try, 16)) * 50 * time.Microsecond))
	}
}

// contended is err; but where no time was left after tries that were undone by
// others, it was they.
func contended(tries int, err error) error {
	if tries > 0 && errors.Is(err, ErrPool) {
		return fmt.Errorf("memcachedlimit: %w: %w", ErrContention, err)
	}
	return err
}
