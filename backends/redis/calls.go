package redislimit

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// A call is one run of a program in one place, and what came of it.
type call struct {
	program *program
	keys    []string
	args    []any

	reply any
	err   error
}

// line is the command of a call.
func (c *call) line() []any {
	line := make([]any, 0, 3+len(c.keys)+len(c.args))
	line = append(line, "evalsha", c.program.sha, len(c.keys))
	for _, k := range c.keys {
		line = append(line, k)
	}
	return append(line, c.args...)
}

// evalAll makes calls to several places in one round trip: one command or one
// pipeline per server, all servers at once.
func (b *Backend) evalAll(ctx context.Context, calls []call) {
	batches := b.byServer(calls)
	inParallel(len(batches), func(i int) {
		one := batches[i].calls
		if len(one) > 1 {
			one = b.pipeline(ctx, batches[i].server, one)
		}
		inParallel(len(one), func(k int) { b.call(ctx, one[k]) })
	})
}

// call makes one call.
func (b *Backend) call(ctx context.Context, c *call) {
	c.reply, c.err = b.eval(ctx, c.program, c.keys, c.args)
}

// proof tells whether an error proves that nothing was done, and that it may help
// to send the command again.
func proof(err error) bool {
	if err == nil {
		return false
	}
	tries, _ := refusal(err)
	return tries > 1 || redis.HasErrorPrefix(err, "NOSCRIPT")
}

// A batch is the calls that go to one server.
type batch struct {
	server *redis.Client
	calls  []*call
}

// byServer sorts calls by the server that their keys are on, as far as the client
// knows. Where it does not, calls go one by one.
func (b *Backend) byServer(calls []call) []batch {
	var batches []batch
	index := map[*redis.Client]int{}
	for i := range calls {
		var server *redis.Client
		if b.guards.find != nil && len(calls) > 1 {
			server = b.guards.find(calls[i].keys[0])
		}
		k, known := index[server]
		if !known || server == nil {
			k = len(batches)
			batches = append(batches, batch{server: server})
			index[server] = k
		}
		batches[k].calls = append(batches[k].calls, &calls[i])
	}
	return batches
}

// pipeline sends calls to a server in one go, and returns those that it refused
// without doing anything: to be sent again, one by one. The pipeline itself is
// sent at most once, because its commands are marked noRetry.
func (b *Backend) pipeline(ctx context.Context, server *redis.Client, calls []*call) (again []*call) {
	passage, err := b.guards.of(server).enter(calls[0].keys[0])
	if err != nil {
		for _, c := range calls {
			c.err = err
		}
		return nil
	}
	pipe := server.Pipeline()
	cmds := make([]noRetry, len(calls))
	for i, c := range calls {
		cmds[i] = noRetry{redis.NewCmd(ctx, c.line()...)}
		_ = pipe.Process(ctx, cmds[i]) // queued: there is nothing to go wrong yet
	}
	_, err = pipe.Exec(ctx)
	if err != nil {
		b.reload.after(ctx, err)
	}
	for i, c := range calls {
		if c.reply, c.err = cmds[i].Result(); c.err == nil {
			err = nil // it answered, whatever came then
		}
		if c.err == redis.Nil {
			c.err = nil
		}
		if proof(c.err) {
			again = append(again, c)
		}
	}
	passage.leave(ctx, err)
	return again
}
