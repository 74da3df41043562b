package replay

import (
	"context"
	"errors"
	"hash/maphash"

	"github.com/stint-go/stint/core"
)

// A ledger is a Backend that keeps books about another one: which cells are in
// use and until when, how often each was asked, and the receipt of its latest
// charge. It forgets, and has the backend forget, cells that are empty again, so
// that both grow with the number of live keys and not with the log.
//
// It serves one goroutine.
type ledger struct {
	inner    core.Backend
	accounts map[address]*account
	retired  *counts
	latest   int64 // the largest instant so far
	lag      int64 // the farthest that an instant lay behind it
	sweepAt  int   // accounts
	least    int   // of sweepAt

	asked []*account // of the asks that are being decided; nil where nothing is known

	refund   int64 // units to give back, in place of asking
	refunded int64 // units that were
	first    core.Key
	failure  error // the first of the backend
}

// failed remembers the backend's failure. The Limiter would go on by the policies'
// OnFailure, and a replay shall not.
func (g *ledger) failed(err error) {
	if g.failure == nil {
		g.failure = err
	}
}

// An address is a cell by content, as prints of 128 bits: several Limiters make
// Spaces of their own for the same cells.
type address struct{ space, key core.Print }

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func addressOf(c *core.Cell) address { return address{c.Space.ID(), c.Key.Print(&seeds)} }

// An account is what is known of one cell.
type account struct {
	cell     core.Cell
	until    int64 // from then on the cell is empty
	receipt  core.Receipt
	charged  int64 // units of the latest charge that can still be given back
	counted  bool  // it stands for its key in the counts by key
	requests int64
	refused  int64
	rule     core.Rule
	hash     uint64 // of the cell's phase, where hashed
	hashed   bool
}

const (
	firstSweep  = 1 << 17
	leastSlack  = 60e6 // µs that a cell is kept beyond its end, for entries that come late
	resetAtMost = 512
)

func newLedger(inner core.Backend) *ledger {
	return &ledger{inner: inner, accounts: map[address]*account{}, retired: newCounts(), sweepAt: firstSweep, least: firstSweep}
}

var _ core.Backend = (*ledger)(nil)

// Take implements core.Backend.
func (g *ledger) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	g.first = asks[0].Cell.Key
	if g.refund > 0 {
		if err := g.giveBack(ctx, at, asks); err != nil {
			g.failed(err)
			return at, err
		}
	}
	look := asks[0].When == core.Never
	g.asked = g.asked[:0]
	for i := range asks {
		g.asked = append(g.asked, g.account(asks, i, !look))
	}
	now, err := g.inner.Take(ctx, at, asks, out)
	g.failed(err)
	for i := range out {
		g.failed(out[i].Err)
	}
	if err != nil || look && g.refund == 0 {
		return now, err
	}
	g.note(now, asks, out)
	if len(g.accounts) >= g.sweepAt {
		g.failed(g.sweep(ctx))
	}
	return now, nil
}

// note enters what was decided.
func (g *ledger) note(now int64, asks []core.Ask, out []core.Verdict) {
	g.lag = max(g.lag, g.latest-now)
	g.latest = max(g.latest, now)
	refused := false
	for i := range asks {
		refused = refused || !asks[i].Soft && !out[i].OK
	}
	for i := range asks {
		a, v := g.asked[i], &out[i]
		if a == nil {
			continue
		}
		if v.ResetAfter < core.Forever {
			a.until = max(a.until, now+v.ResetAfter)
		}
		if v.Receipt != (core.Receipt{}) { // what was refused and counted has none
			a.receipt, a.charged, a.rule = v.Receipt, asks[i].Cost, asks[i].Rule
		}
		if a.counted && g.refund == 0 {
			a.requests++
			if refused || !v.OK {
				a.refused++
			}
		}
	}
}

// phase staggers windows as a store outside the process does that has no secret:
// the same on every run and on every backend.
func (g *ledger) phase(c core.Cell) int64 {
	window := uint64(c.Space.Window())
	for _, a := range g.asked {
		if a == nil || a.cell.Key != c.Key {
			continue
		}
		if !a.hashed { // a digest costs as much as a decision
			a.hash, a.hashed = c.Digest().Hash(), true
		}
		return int64(a.hash % window)
	}
	return int64(c.Digest().Hash() % window)
}

// account is that of an ask. It is opened, on request, where there is none. The
// first of the rates of one policy stands for the key.
func (g *ledger) account(asks []core.Ask, i int, open bool) *account {
	at := addressOf(&asks[i].Cell)
	a := g.accounts[at]
	if a == nil && open {
		a = &account{cell: core.Cell{Space: asks[i].Cell.Space, Key: asks[i].Cell.Key.Clone()}, counted: true}
		for _, b := range asks[:i] {
			if b.Cell.Space.Policy() == asks[i].Cell.Space.Policy() && b.Cell.Key == asks[i].Cell.Key {
				a.counted = false
			}
		}
		g.accounts[at] = a
	}
	return a
}

// giveBack settles the latest charge of each cell, once: a receipt serves once.
func (g *ledger) giveBack(ctx context.Context, at int64, asks []core.Ask) error {
	var settled []core.Ask
	var receipts []core.Receipt
	var deltas []int64
	for i := range asks {
		a := g.accounts[addressOf(&asks[i].Cell)]
		if a == nil || a.charged == 0 || a.receipt == (core.Receipt{}) {
			continue
		}
		n := min(g.refund, a.charged)
		ask := asks[i]
		ask.Rule = a.rule // that of the charge
		settled, receipts, deltas = append(settled, ask), append(receipts, a.receipt), append(deltas, -n)
		a.charged, g.refunded = 0, max(g.refunded, n)
	}
	if len(settled) == 0 {
		return nil
	}
	return g.inner.Settle(ctx, at, settled, receipts, deltas)
}

// Settle implements core.Backend.
func (g *ledger) Settle(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
	return g.inner.Settle(ctx, at, asks, rs, delta)
}

// Reset implements core.Backend.
func (g *ledger) Reset(ctx context.Context, cells ...core.Cell) error {
	for i := range cells {
		delete(g.accounts, addressOf(&cells[i]))
	}
	return g.inner.Reset(ctx, cells...)
}

// sweep closes the accounts of cells that are empty again.
func (g *ledger) sweep(ctx context.Context) error {
	slack := max(leastSlack, 2*g.lag)
	var empty []core.Cell
	for at, a := range g.accounts {
		if a.until+slack > g.latest {
			continue
		}
		g.retire(a)
		delete(g.accounts, at)
		if empty = append(empty, a.cell); len(empty) == resetAtMost {
			if err := g.inner.Reset(ctx, empty...); err != nil {
				return err
			}
			empty = empty[:0]
		}
	}
	g.sweepAt = max(g.least, 2*len(g.accounts))
	if len(empty) == 0 {
		return nil
	}
	return g.inner.Reset(ctx, empty...)
}

func (g *ledger) retire(a *account) {
	if a.counted {
		g.retired.add(Identity{a.cell.Space.Policy(), KeyText(a.cell.Key)}, a.requests, a.refused)
	}
}

// close empties all cells that are left, and the books into the counts by key.
func (g *ledger) close(ctx context.Context) error {
	var cells []core.Cell
	var errs []error
	for _, a := range g.accounts {
		g.retire(a)
		cells = append(cells, a.cell)
	}
	clear(g.accounts)
	for len(cells) > 0 {
		n := min(len(cells), resetAtMost)
		errs = append(errs, g.inner.Reset(ctx, cells[:n]...))
		cells = cells[n:]
	}
	return errors.Join(errs...)
}
