package redislimit

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
)

// A tracer is a hook that notes the names of commands.
type tracer struct {
	redis.Hook
	mu    sync.Mutex
	names []string
}

func (h *tracer) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *tracer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *tracer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.mu.Lock()
		h.names = append(h.names, cmd.Name())
		h.mu.Unlock()
		return next(ctx, cmd)
	}
}

// What a user hangs on the client sees our commands: tracing and metrics must not
// go silent.
func TestHooksOfTheClientSeeOurCommands(t *testing.T) {
	for name, o := range map[string]redis.Options{
		"a client that is copied": {},
		"one that is not":         {ContextTimeoutEnabled: true},
	} {
		o.Addr = shared.single().Addr()
		c := redisClient(t, &o)
		var before, after tracer
		c.AddHook(&before)
		b := must(t, c, Options{Timeout: patient})
		c.AddHook(&after)
		a := asking(t, core.GCRA{}, 10, 1e9)
		if _, err := take(b, 0, a); err != nil {
			t.Fatal(err)
		}
		if err := b.Reset(t.Context(), a.Cell); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(before.names, "evalsha") || !slices.Contains(before.names, "del") {
			t.Errorf("%s: the hook saw %q", name, before.names)
		}
		if o.ContextTimeoutEnabled && !slices.Equal(after.names, before.names) {
			t.Errorf("%s: a later hook saw %q, not %q", name, after.names, before.names)
		}
	}
}
