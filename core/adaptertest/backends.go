package adaptertest

import (
	"context"
	"errors"
	"sync"

	"github.com/stint-go/stint/core"
)

// brokenBackend fails, and says too much.
type brokenBackend struct{ words string }

func (b brokenBackend) Take(context.Context, int64, []core.Ask, []core.Verdict) (int64, error) {
	return 0, errors.New(b.words)
}

func (b brokenBackend) Settle(context.Context, int64, []core.Ask, []core.Receipt, []int64) error {
	return errors.New(b.words)
}

func (b brokenBackend) Reset(context.Context, ...core.Cell) error { return errors.New(b.words) }

// watchedBackend keeps the contexts that it was asked with.
type watchedBackend struct {
	core.Backend
	mu       sync.Mutex
	contexts []context.Context
}

func (b *watchedBackend) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	b.mu.Lock()
	b.contexts = append(b.contexts, ctx)
	b.mu.Unlock()
	return b.Backend.Take(ctx, at, asks, out)
}

// contexts: the backend is asked with a context that neither ends with the
// request nor belongs to it, so that a client can not cancel its own charge and
// nothing keeps a framework's context that is used again.
func contexts(s *suite) {
	b := &watchedBackend{Backend: s.Backend(s.T)}
	l := s.configured(core.Config{Backend: b, Policies: []core.Policy{exact("a", "9/m"), exact("b", "9/m")}})
	v := s.serve(route("GET", "/", ok, Limited(l)))
	for range 3 {
		s.equal("status", v.send(1, "GET /").status, 200)
	}
	for _, ctx := range b.contexts {
		if ctx.Done() != nil || ctx.Err() != nil {
			s.Errorf("the backend was asked with a context that can end: %v", ctx)
		}
	}
	s.equal("asked", len(b.contexts), 3)
}
