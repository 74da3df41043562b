package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/stint-go/stint/core"
)

var errFull = fmt.Errorf("memory: no room for a state to grow, and nothing to evict: %w", core.ErrUnavailable)

// takeOne is a Take of one ask.
func (b *Backend) takeOne(at int64, ask *core.Ask, out *core.Verdict) int64 {
	var t seat
	b.locate(&ask.Cell, at != 0, &t.place)
	read := b.shared.clock.now()
	t.shard = &b.shards[t.place.shard]
	t.shard.mu.Lock()
	defer t.shard.unlock()
	var m moment
	t.shard.enter(&m, at, read)
	b.takeAlone(&t, ask, out, &m)
	t.shard.tidy(m.tick)
	return m.now
}

// takeAlone decides one ask in its shard, whose lock is held.
func (b *Backend) takeAlone(t *seat, ask *core.Ask, out *core.Verdict, m *moment) {
	t.words = ask.Rule.Words()
	t.addr = t.shard.find(t.fingerprint)
	if t.addr == 0 && ask.When == core.Never && t.shard.crowded(m.tick) || !t.decide(ask, out, m) {
		t.shard.giveBack()
		b.decideOver(t, ask, out, m)
	}
}

// decide is a decision of one ask. It answers false where there is no room for
// a newcomer; nothing has changed then.
func (t *seat) decide(ask *core.Ask, out *core.Verdict, m *moment) bool {
	state := t.judge(ask, out, m)
	if ask.Cost > 0 && charges(ask.When, out.OK) && !t.prepare(m) {
		if !t.full {
			return false
		}
		t.judge(ask, out, m)
	}
	t.finish(ask, out, state, out.OK, m)
	return true
}

func (b *Backend) decideOver(t *seat, ask *core.Ask, out *core.Verdict, m *moment) {
	o := &b.shared.overflow
	o.mu.Lock()
	defer o.mu.Unlock()
	t.share(o, &ask.Cell, m)
	t.decide(ask, out, m)
}

// share seats a newcomer on the overflow cell of its space.
func (t *seat) share(o *overflow, c *core.Cell, m *moment) {
	t.over = o.cell(c.Space, m.explicit)
	t.phase = t.over.phase
	t.shard.shared.overflowed.Add(1)
}

// few is how many asks a step takes without allocating.
const few = 8

// Take implements core.Backend. It allocates nothing for up to eight asks.
func (b *Backend) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (now int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if len(asks) != len(out) {
		return 0, errLen
	}
	if err := checkAll(at, asks); err != nil {
		return 0, err
	}
	if len(asks) == 1 {
		return b.takeOne(at, &asks[0], &out[0]), nil
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
	for len(asks) > 0 {
		n := 1
		for n < len(asks) && asks[n].Group == asks[0].Group {
			n++
		}
		h.decide(seats[:n], asks[:n], out[:n], &m)
		giveBack(seats[:n])
		seats, asks, out = seats[n:], asks[n:], out[n:]
	}
	h.tidy(shards, m.tick)
	return m.now, nil
}

// fit is n seats, of those given if they are enough. The seats are no part of
// the hold as the compiler would then move them to the heap.
func fit(seats []seat, n int) []seat {
	if n > len(seats) {
		return make([]seat, n)
	}
	return seats[:n]
}

func checkAll(at int64, asks []core.Ask) error {
	if len(asks) == 0 {
		return errAsks
	}
	if at < 0 {
		return errAt
	}
	for i := range asks {
		if err := check(&asks[i]); err != nil {
			return err
		}
	}
	return nil
}

// A hold is the locks of a step of several asks: the shards in ascending order,
// each once, and last the overflow cells.
type hold struct {
	backend *Backend
	over    bool
}

// lock seats the asks and locks their shards, which it appends to order.
func (h *hold) lock(at int64, asks []core.Ask, seats []seat, order []uint32, m *moment) []uint32 {
	b := h.backend
	for i := range seats {
		t := &seats[i]
		b.locate(&asks[i].Cell, at != 0, &t.place)
		t.shard, t.words = &b.shards[t.place.shard], asks[i].Rule.Words()
		if j, found := slices.BinarySearch(order, t.place.shard); !found {
			order = slices.Insert(order, j, t.place.shard)
		}
	}
	read := b.shared.clock.now()
	for _, i := range order {
		b.shards[i].mu.Lock()
		read = max(read, b.shards[i].last)
	}
	for _, i := range order {
		b.shards[i].enter(m, at, read)
	}
	return order
}

func (h *hold) unlock(order []uint32) {
	if h.over {
		h.backend.shared.overflow.mu.Unlock()
	}
	for _, i := range order {
		h.backend.shards[i].unlock()
	}
}

func (h *hold) tidy(order []uint32, tick uint32) {
	for _, i := range order {
		h.backend.shards[i].tidy(tick)
	}
}

func giveBack(seats []seat) {
	for i := range seats {
		seats[i].shard.giveBack()
	}
}

// decide is one decision of several asks. All are judged before any is charged,
// and for all that will be charged room is made before; where there is none, a
// seat is marked and all are judged again.
func (h *hold) decide(seats []seat, asks []core.Ask, out []core.Verdict, m *moment) {
	for i := range seats {
		t := &seats[i]
		t.addr = t.shard.find(t.fingerprint)
		if t.addr == 0 && asks[i].When == core.Never && t.shard.crowded(m.tick) {
			h.share(seats, asks, i, m)
		}
	}
	for {
		admitted := judge(seats, asks, out, m)
		if !h.prepare(seats, asks, out, admitted, m) {
			giveBack(seats)
			continue
		}
		for i := range seats {
			t := &seats[i]
			t.finish(&asks[i], &out[i], t.load(), admits(&asks[i], &out[i], admitted), m)
		}
		return
	}
}

// judge reports whether every hard ask is OK.
func judge(seats []seat, asks []core.Ask, out []core.Verdict, m *moment) bool {
	admitted := true
	for i := range seats {
		seats[i].judge(&asks[i], &out[i], m)
		admitted = admitted && (out[i].OK || asks[i].Soft)
	}
	return admitted
}

// admits is the decision's admission for a hard ask, its own for a soft one.
func admits(a *core.Ask, v *core.Verdict, admitted bool) bool {
	if a.Soft {
		return v.OK
	}
	return admitted
}

// prepare makes room for all charges.
func (h *hold) prepare(seats []seat, asks []core.Ask, out []core.Verdict, admitted bool, m *moment) bool {
	for i := range seats {
		if t := &seats[i]; t.addr != 0 {
			t.shard.pinned = append(t.shard.pinned, t.addr)
		}
	}
	for i := range seats {
		t, a := &seats[i], &asks[i]
		if a.Cost == 0 || !charges(a.When, admits(a, &out[i], admitted)) || t.prepare(m) {
			continue
		}
		if !t.full {
			h.share(seats, asks, i, m)
		}
		return false
	}
	return true
}

// share gives seat i the overflow cell of its space, behind the asks before it.
func (h *hold) share(seats []seat, asks []core.Ask, i int, m *moment) {
	o := &h.backend.shared.overflow
	if !h.over {
		o.mu.Lock()
		h.over = true
	}
	t := &seats[i]
	t.share(o, &asks[i].Cell, m)
	for j := range seats {
		if seats[j].over == t.over && j != i && asks[j].When != core.Never {
			t.ahead += min(asks[j].Cost, core.MaxCount)
		}
	}
}
