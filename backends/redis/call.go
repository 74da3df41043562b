package redislimit

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// noRetry keeps the client from sending a command again whose first sending may
// have been executed: its reply was lost, or late. By default go-redis would do
// so up to three times, and one request would be counted four times. Where the
// reply proves that nothing was done, eval sends it again itself.
type noRetry struct{ *redis.Cmd }

func (noRetry) NoRetry() bool { return true }

// deadline is the context of one operation. It ends with the time-out or the
// caller's own deadline, but not with the caller: who hangs up after the charge
// was sent must not make it look as if the store had failed.
func (b *Backend) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	end, parent := time.Now().Add(b.timeout), context.WithoutCancel(ctx)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		if end.Sub(d) > b.timeout/2 {
			parent = context.WithValue(parent, hurried{}, true)
		}
		end = d
	}
	return context.WithDeadline(parent, end)
}

// eval runs a program: one EVALSHA, and an EVAL where the server did not know
// it. It tries again only where a reply proves that nothing was done.
func (b *Backend) eval(ctx context.Context, p *program, keys []string, args []any) (any, error) {
	passage, err := b.guards.enter(keys[0])
	if err != nil {
		return nil, err
	}
	reply, err := b.evalNow(ctx, p, keys, args)
	passage.leave(ctx, err)
	return reply, err
}

// evalNow is eval, whatever the breaker says.
func (b *Backend) evalNow(ctx context.Context, p *program, keys []string, args []any) (any, error) {
	line := (&call{program: p, keys: keys, args: args}).line()
	for try := 0; ; try++ {
		reply, err := b.send(ctx, line)
		if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			whole := append([]any{"eval", p.text}, line[2:]...)
			reply, err = b.send(ctx, whole)
		}
		if err == nil {
			return reply, nil
		}
		if tries, _ := refusal(err); try+1 >= tries || !sleep(ctx, time.Millisecond<<min(try, 3)) {
			return nil, err
		}
	}
}

func (b *Backend) send(ctx context.Context, line []any) (any, error) {
	cmd := noRetry{redis.NewCmd(ctx, line...)}
	if err := b.via.Process(ctx, cmd); err != nil && !errors.Is(err, redis.Nil) {
		b.reload.after(ctx, err)
		return nil, err
	}
	return cmd.Val(), nil
}

// sleep waits, and tells whether there was time for it.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// reloadEvery bounds how often a cluster's nodes are looked for.
const reloadEvery = 250 * time.Millisecond

// after looks for the cluster's nodes anew when one did not answer.
func (r *reloader) after(ctx context.Context, err error) {
	if r.client == nil {
		return
	}
	if _, ok := errors.AsType[redis.Error](err); ok {
		return // it answered
	}
	now := time.Now().UnixNano()
	if next := r.next.Load(); now >= next && r.next.CompareAndSwap(next, now+int64(reloadEvery)) {
		r.client.ReloadState(ctx)
	}
}
