package redislimit

import (
	"context"
	"fmt"

	"github.com/stint-go/stint/core"
)

// Settle implements core.Backend.
func (b *Backend) Settle(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(rs) != len(asks) || len(delta) != len(asks) || at < 0 {
		return errInput
	}
	ts, err := b.targets(asks, at != 0)
	if err != nil {
		return err
	}
	corrections := make([]correction, 0, len(asks))
	for i := range asks {
		if c := (correction{rs[i], delta[i]}); !ts[i].programmed || !c.vain() {
			ts[len(corrections)] = ts[i]
			corrections = append(corrections, c)
		}
	}
	ts = ts[:len(corrections)]
	ctx, cancel := b.deadline(ctx)
	defer cancel()
	for _, err := range b.correct(ctx, at, ts, corrections) {
		if err != nil {
			return err
		}
	}
	return nil
}

// correct makes corrections in order, all places at once, and returns an error
// for each that could not be made.
func (b *Backend) correct(ctx context.Context, at int64, ts []target, corrections []correction) []error {
	errs := make([]error, len(ts))
	if len(ts) == 0 {
		return errs
	}
	defer func() {
		for i := range ts { // done or not: who can tell
			b.denied.Forget(ts[i].Cell)
		}
	}()
	parts := bySlot(ts)
	mine := make([][]correction, len(parts))
	for i, p := range parts {
		for _, place := range p.places {
			mine[i] = append(mine[i], corrections[place])
		}
	}
	tell := func(i int, found []error, err error) {
		for k, place := range parts[i].places {
			if errs[place] = err; err == nil {
				errs[place] = found[k]
			}
		}
	}
	if !programmed(ts) {
		inParallel(len(parts), func(i int) {
			found, err := b.correctBySwap(ctx, at, parts[i].ts, mine[i])
			tell(i, found, err)
		})
		return errs
	}
	calls := make([]call, len(parts))
	for i, p := range parts {
		calls[i] = correctionCall(at, p.ts, mine[i])
	}
	b.evalAll(ctx, calls)
	for i := range calls {
		found, err := b.corrected(&calls[i], parts[i].ts)
		tell(i, found, err)
	}
	return errs
}

// correctionCall is the call that makes the corrections of one place.
func correctionCall(at int64, ts []target, corrections []correction) call {
	c := call{program: settling[0], keys: make([]string, len(ts))}
	if at != 0 {
		c.program, c.args = settling[1], append(c.args, at)
	}
	for i := range ts {
		c.keys[i] = ts[i].name
		c.args = corrections[i].appendNumbers(c.args, &ts[i])
	}
	return c
}

// corrected reads the reply of a correctionCall. The errors are those of cells
// that hold something foreign.
func (b *Backend) corrected(c *call, ts []target) (errs []error, err error) {
	if c.err != nil {
		return nil, b.fail("settle", c.err)
	}
	elements, ok := c.reply.([]any)
	errs = make([]error, len(ts))
	for _, e := range elements {
		i, isNumber := e.(int64)
		if ok = ok && isNumber && i >= 1 && i <= int64(len(ts)); ok {
			errs[i-1] = foreign(ts[i-1].name)
		}
	}
	if !ok {
		return nil, fmt.Errorf("redislimit: settle: %w: a reply of %T", core.ErrProtocol, c.reply)
	}
	return errs, nil
}

// correctBySwap makes the corrections of one place, where Lua does not know a
// rule. The errors are those of cells that hold something foreign.
func (b *Backend) correctBySwap(ctx context.Context, at int64, ts []target, corrections []correction) (errs []error, err error) {
	// A cell may be corrected several times: each is read and written once.
	index, cells := map[string]int{}, []target(nil)
	for i := range ts {
		if _, known := index[ts[i].name]; !known {
			index[ts[i].name] = len(cells)
			cells = append(cells, ts[i])
		}
	}
	errs = make([]error, len(ts))
	err = b.update(ctx, at, cells, func(snaps []snapshot) {
		lives := make([]bool, len(snaps))
		for i := range snaps {
			lives[i] = snaps[i].text != nil
		}
		for i := range ts {
			k := index[ts[i].name]
			s := &snaps[k]
			if errs[i] = s.err; s.err != nil || !lives[k] && corrections[i].delta <= 0 {
				continue
			}
			lives[k] = true
			s.state = ts[i].Rule.Settle(s.state, s.now, ts[i].phase, corrections[i].receipt, corrections[i].delta)
		}
	})
	return errs, err
}
