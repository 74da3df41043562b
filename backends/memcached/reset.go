package memcachedlimit

import (
	"context"
	"slices"

	"github.com/stint-go/stint/core"
)

// Reset implements core.Backend: one round trip to find what there is of the
// cells, and one for each item that there is.
func (b *Backend) Reset(ctx context.Context, cells ...core.Cell) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := b.clock.now()
	var keys []string
	for i := range cells {
		if cells[i].Space == nil {
			return errInput
		}
		keys = appendItems(keys, &cells[i], now)
	}
	l := b.lanes.enter(ctx)
	defer b.lanes.leave(l)
	for some := range slices.Chunk(keys, maxRead) {
		items, err := l.get(some)
		if err != nil {
			return err
		}
		for key := range items {
			if err := l.delete(key); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxRead is how many items a Reset looks for in one round trip.
const maxRead = 500

// appendItems appends the keys of all items that a cell may have. With explicit
// instants the first one names the epoch of all others.
func appendItems(keys []string, c *core.Cell, now int64) []string {
	explicit, _ := cellName(c, true)
	name, digest := cellName(c, false)
	keys = append(keys, explicit, name)
	y := layoutOfShape(c.Space.Shape(), c.Space.Window())
	if y.count == 0 {
		return keys
	}
	own := cell{name: name, layout: y}
	current := y.number(now, c.Phase(digest.Hash()))
	for i := current - int64(y.count); i <= current+int64(max(1, y.ahead)); i++ { // and beyond both ends: clocks differ
		keys = append(keys, own.counter(i))
	}
	return keys
}
