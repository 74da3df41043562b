package redislimit

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
)

// Reset implements core.Backend. It is one DEL per place that the cells live in.
func (b *Backend) Reset(ctx context.Context, cells ...core.Cell) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(cells) == 0 {
		return nil
	}
	bySlot := map[uint64][]any{}
	for i := range cells {
		if cells[i].Space == nil {
			return errInput
		}
		for _, explicit := range [...]bool{false, true} {
			name, digest := cellName(&cells[i], explicit)
			slot := b.slot(digest)
			if bySlot[slot] == nil {
				bySlot[slot] = []any{"del"}
			}
			bySlot[slot] = append(bySlot[slot], name)
		}
	}
	var lines [][]any
	for _, line := range bySlot {
		lines = append(lines, line)
	}
	ctx, cancel := b.deadline(ctx)
	defer cancel()
	errs := make([]error, len(lines))
	inParallel(len(lines), func(i int) {
		passage, err := b.guards.enter(lines[i][1].(string))
		if err == nil {
			// Deleting again does no harm, so the client may retry this one.
			err = b.via.Process(ctx, redis.NewCmd(ctx, lines[i]...))
			passage.leave(ctx, err)
		}
		errs[i] = err
	})
	b.denied.Forget(cells...)
	for _, err := range errs {
		if err != nil {
			b.reload.after(ctx, err)
			return b.fail("reset", err)
		}
	}
	return nil
}
