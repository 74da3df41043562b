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
	var (
		some  [few]seat
		order [few]uint32
		m     moment
	)
	seats := fit(some[:], len(asks))
	h := hold{backend: b}
	shards := h.lock(at, asks, seats, order[:0], &m)
	defer h.unlock(shards)
	for i := range asks {
		if delta[i] != 0 {
			h.settle(seats[i:i+1], asks[i:i+1], rs[i], delta[i], &m)
			seats[i].shard.giveBack()
		}
	}
	h.tidy(shards, m.tick)
	return nil
}

func (h *hold) settle(seats []seat, asks []core.Ask, r core.Receipt, delta int64, m *moment) {
	t, rule := &seats[0], asks[0].Rule
	t.addr = t.shard.find(t.fingerprint)
	if t.addr == 0 && delta < 0 {
		return
	}
	if delta > 0 && !t.prepare(m) && t.addr == 0 {
		t.shard.giveBack()
		h.share(seats, asks, 0, m)
	}
	state := rule.Settle(t.load(), m.now, t.phase, r, delta)
	until := rule.Until(state)
	if until == 0 && t.over == nil {
		t.shard.forget(&t.place)
		return
	}
	j := rule.Decide(state, m.now, t.phase, 0)
	t.store(state, m.expiry(until), limited(&j))
}
