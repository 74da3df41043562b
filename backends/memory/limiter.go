package memory

import "github.com/stint-go/stint/core"

// Limiter is what the adapters' one-line Limit mounts: one policy "default" over
// a Backend of its own, keyed by the client's address, or by what the sources
// say together. It panics where rate or sources are wrong, as
// regexp.MustCompile does: such a limiter is written down in the program.
//
// It counts by the default strategy, SlidingWindow, which in some interval of a
// window's length can admit up to twice the limit. Where a small limit has to be
// exact, make a core.Limiter with MovingWindow or BucketedWindow.
func Limiter(rate string, by ...core.KeySource) *core.Limiter {
	p := core.Policy{Name: "default", Rate: rate}
	switch len(by) {
	case 0:
	case 1: // of any kind, Each included
		p.Key = by[0]
	default:
		p.Key = core.Join(by...)
	}
	l, err := core.New(core.Config{Backend: New(), Policies: []core.Policy{p}})
	if err != nil {
		panic(err)
	}
	return l
}
