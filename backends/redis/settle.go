package redislimit

import (
	"context"

	"github.com/stint-go/stint/core"
)

// A correction is what Settle does to one charge.
type correction struct {
	receipt core.Receipt
	delta   int64
}

// Settle implements core.Backend.
func (b *Backend) Settle(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(rs) != len(asks) || len(delta) != len(asks) || at < 0 {
		return errInput
	}
	ts, err := b.targets(asks, at != 0)
	if err != nil || len(ts) == 0 {
		return err
	}
	corrections := make([]correction, len(asks))
	for i := range asks {
		corrections[i] = correction{rs[i], delta[i]}
	}
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
	parts := bySlot(ts)
	inParallel(len(parts), func(i int) {
		p := parts[i]
		mine := make([]correction, len(p.ts))
		for k, place := range p.places {
			mine[k] = corrections[place]
		}
		found, err := b.correctPart(ctx, at, p.ts, mine)
		for k, place := range p.places {
			if errs[place] = err; err == nil {
				errs[place] = found[k]
			}
		}
	})
	return errs
}

// correctPart makes the corrections that live in one place, in one step. The
// errors are those of cells that hold something foreign.
func (b *Backend) correctPart(ctx context.Context, at int64, ts []target, corrections []correction) (errs []error, err error) {
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
