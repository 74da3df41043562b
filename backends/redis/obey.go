package redislimit

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// obeying has a client whose options ignore deadlines obey those of commands that
// are sent through what it returns. They take the way of all the client's commands
// through its hooks, of which tracing and metrics are made, as far as the last one
// there is now: from there they go to a copy of the client that shares the
// connection pool and has other options. WithTimeout alone would lose the hooks.
func obeying(c *redis.Client, timeout time.Duration) commander {
	own := c.WithTimeout(timeout)
	own.Options().ContextTimeoutEnabled = true // of the copy: WithTimeout clones the options
	d := &detour{client: c, own: own}
	c.AddHook(d)
	return d
}

// A commander is what a Backend needs of a client.
type commander interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// A detour is the hook that has commands sent through the copy.
type detour struct{ client, own *redis.Client }

// detoured marks its commands.
type detoured struct {
	redis.Cmder
	by *detour
}

func (d *detour) Process(ctx context.Context, cmd redis.Cmder) error {
	return d.client.Process(ctx, detoured{cmd, d})
}

func (d *detour) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if ours, ok := cmd.(detoured); ok && ours.by == d {
			return d.own.Process(ctx, ours.Cmder)
		}
		return next(ctx, cmd)
	}
}

func (d *detour) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (d *detour) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return next(ctx, cmds) }
}
