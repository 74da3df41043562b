// Package advise looks at who asked how much, and proposes a limit.
package advise

import (
	"cmp"
	"context"
	"slices"

	"github.com/stint-go/stint/cmd/stint/internal/replay"
	"github.com/stint-go/stint/core"
)

// A Use is one request of a key: when, in microseconds, and how many units.
type Use struct{ At, Units int64 }

// A Key is one identity and all that it asked for, in the order of time.
type Key struct {
	Name  string
	Uses  []Use
	phase uint64 // of its staggered windows, before the window is known
}

// Traffic is what was recorded, by identity. It is a Backend that lets everything
// pass: so the identities are those that a Limiter finds. It keeps 16 bytes per
// request, and serves one goroutine.
type Traffic struct {
	Keys []*Key
	// Shift is what the instants of the lane lie ahead of the trace's own.
	Shift int64
	index map[core.Key]*Key
}

var _ core.Backend = (*Traffic)(nil)

// Take implements core.Backend.
func (t *Traffic) Take(_ context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	for i := range asks {
		out[i] = core.Verdict{Judgement: core.Judgement{OK: true}, Charged: true}
		if a := &asks[i]; a.When != core.Never && a.Cost > 0 {
			k := t.key(&a.Cell)
			k.Uses = append(k.Uses, Use{at - t.Shift, a.Cost})
		}
	}
	return at, nil
}

func (t *Traffic) key(c *core.Cell) *Key {
	k := t.index[c.Key]
	if k == nil {
		if t.index == nil {
			t.index = map[core.Key]*Key{}
		}
		k = &Key{Name: replay.KeyText(c.Key), phase: c.Digest().Hash()}
		t.Keys = append(t.Keys, k)
		t.index[c.Key.Clone()] = k
	}
	return k
}

// Settle implements core.Backend. Refunds are left aside: whoever was refunded had
// asked.
func (t *Traffic) Settle(context.Context, int64, []core.Ask, []core.Receipt, []int64) error {
	return nil
}

// Reset implements core.Backend.
func (t *Traffic) Reset(context.Context, ...core.Cell) error { return nil }

// Sort puts the requests of each key in order.
func (t *Traffic) Sort() {
	for _, k := range t.Keys {
		slices.SortStableFunc(k.Uses, func(a, b Use) int { return cmp.Compare(a.At, b.At) })
	}
	slices.SortStableFunc(t.Keys, func(a, b *Key) int {
		return cmp.Or(cmp.Compare(len(b.Uses), len(a.Uses)), cmp.Compare(a.Name, b.Name))
	})
}

// Drop leaves out the keys of these names.
func (t *Traffic) Drop(names []string) {
	t.Keys = slices.DeleteFunc(t.Keys, func(k *Key) bool { return slices.Contains(names, k.Name) })
}

// Peak is the most units of the key in any interval of that length, half-open, in
// microseconds.
func (k *Key) Peak(window int64) (most int64) {
	first, sum := 0, int64(0)
	for _, u := range k.Uses {
		sum += u.Units
		for k.Uses[first].At <= u.At-window {
			sum -= k.Uses[first].Units
			first++
		}
		most = max(most, sum)
	}
	return most
}
