package memory

import (
	"context"

	"github.com/stint-go/stint/core"
)

// Settle implements core.Backend. What was charged to an overflow cell is not
// refunded: nobody could tell whose it was.
func (b *Backend) Settle(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(rs) != len(asks) || len(delta) != len(asks) {
		return errLen
	}
	if err := checkAll(at, asks); err != nil {
		return err
	}
	h := hold{backend: b}
	var m moment
	h.lock(at, asks, &m)
	defer h.unlock()
	for i := range asks {
		if delta[i] != 0 {
			h.settle(i, asks, rs[i], delta[i], &m)
			h.giveBack()
		}
	}
	h.tidy(m.tick)
	return nil
}

func (h *hold) settle(i int, asks []core.Ask, r core.Receipt, delta int64, m *moment) {
	t, rule := &h.seats[i], asks[i].Rule
	t.addr = t.shard.find(&t.place)
	if t.addr == 0 && delta < 0 {
		return
	}
	words := rule.Words()
	if delta > 0 && !t.prepare(&asks[i], m) && t.addr == 0 {
		h.giveBack()
		h.share(h.seats[i:i+1], asks[i:i+1], 0, m)
	}
	state := rule.Settle(t.load(words), m.now, t.phase, r, delta)
	until := rule.Until(state)
	if until == 0 && t.over == nil {
		t.shard.forget(&t.place)
		return
	}
	v := rule.Decide(state, m.now, t.phase, 0)
	t.store(state, words, m.expiry(until), limited(&v))
}
