package memcachedlimit

import (
	"context"
	"fmt"

	"github.com/stint-go/stint/core"
)

// Take implements core.Backend. The README says how many round trips it takes.
func (b *Backend) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if len(asks) == 0 || len(out) != len(asks) || at < 0 {
		return 0, errInput
	}
	cells, err := cellsOf(asks, at != 0)
	if err != nil {
		return 0, err
	}
	k := &call{b: b, lane: b.lanes.enter(ctx), at: at}
	defer b.lanes.leave(k.lane)
	k.begin()
	for first, i := 0, 0; i < len(cells); i++ {
		if cells[i].last {
			k.decide(cells[first:i+1], out[first:i+1])
			first = i + 1
		}
	}
	return k.now, whole(out)
}

// whole is the error of a call in which nothing was decided: the first one.
func whole(out []core.Verdict) error {
	for i := range out {
		if out[i].Err == nil {
			return nil
		}
	}
	err := out[0].Err
	clear(out)
	return err
}

// rounds is how often a decision begins anew because a sub-window ended while it
// was made.
const rounds = 5

// decide makes one decision.
func (k *call) decide(cells []cell, out []core.Verdict) {
	d := decision{call: k, cells: cells}
	for range rounds {
		if d.make() {
			d.verdicts(out)
			return
		}
		k.begin()
	}
	for i := range out {
		out[i] = core.Verdict{Err: fmt.Errorf("memcachedlimit: %w: sub-windows of %s end faster than memcached answers", ErrContention, cells[i].Rule.Shape())}
	}
}
