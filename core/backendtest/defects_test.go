package backendtest

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/stint-go/stint/core"
)

// The defects that the mutants are made of.

var splits = made(func(b *broken) {
	b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
		asks = slices.Clone(asks)
		for i := range asks {
			asks[i].Group = int32(i)
		}
		return b.Model.Take(ctx, at, asks, out)
	}
})

var gathers = made(func(b *broken) {
	b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
		order := make([]int, len(asks))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return int(asks[i].Group) - int(asks[j].Group) })
		sorted, verdicts := make([]core.Ask, len(asks)), make([]core.Verdict, len(out))
		for i, j := range order {
			sorted[i] = asks[j]
		}
		now, err := b.Model.Take(ctx, at, sorted, verdicts)
		for i, j := range order {
			out[j] = verdicts[i]
		}
		return now, err
	}
})

// keepsKeys finds cells by keys that it has not cloned.
func keepsKeys() core.Backend {
	seen := map[core.Key]string{}
	return rewritten(func(a *core.Ask) {
		if _, ok := seen[a.Cell.Key]; !ok {
			seen[a.Cell.Key] = fmt.Sprint(len(seen))
		}
		sp := a.Cell.Space
		a.Cell.Space = core.NewSpace(sp.Policy(), sp.Window(), sp.Shape(), nil, phaseOf(a.Cell))
		a.Cell.Key = core.NewKey("number", seen[a.Cell.Key])
	})()
}

var refundsAtNow = made(func(b *broken) {
	b.settle = func(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
		rs = slices.Clone(rs)
		for i, a := range asks {
			if a.Rule != nil && a.Cell.Space != nil && delta[i] < 0 {
				state, phase := b.Model.load(a)
				_, rs[i] = a.Rule.Charge(state, at, phase, -delta[i])
			}
		}
		return b.Model.Settle(ctx, at, asks, rs, delta)
	}
})

func settled(f func(delta int64) int64) func() core.Backend {
	return made(func(b *broken) {
		b.settle = func(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
			delta = slices.Clone(delta)
			for i := range delta {
				delta[i] = f(delta[i])
			}
			return b.Model.Settle(ctx, at, asks, rs, delta)
		}
	})
}

var debtNeedsCell = made(func(b *broken) {
	b.settle = func(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
		for i, a := range asks {
			if _, ok := b.Model.cells[name(a.Cell)]; ok {
				if err := b.Model.Settle(ctx, at, asks[i:i+1], rs[i:i+1], delta[i:i+1]); err != nil {
					return err
				}
			}
		}
		return nil
	}
})

var settlesBackwards = made(func(b *broken) {
	b.settle = func(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
		asks, rs, delta = slices.Clone(asks), slices.Clone(rs), slices.Clone(delta)
		slices.Reverse(asks)
		slices.Reverse(rs)
		slices.Reverse(delta)
		return b.Model.Settle(ctx, at, asks, rs, delta)
	}
})

func rewhen(from, to core.When) func() core.Backend {
	return rewritten(func(a *core.Ask) {
		if a.When == from {
			a.When = to
		}
	})
}

var beforehand = made(func(b *broken) {
	b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
		before := make([]core.Verdict, len(asks))
		looks := slices.Clone(asks)
		for i := range looks {
			looks[i].When, looks[i].Cost = core.Never, max(0, min(looks[i].Cost, 0))
		}
		b.Model.Take(ctx, at, looks, before)
		now, err := b.Model.Take(ctx, at, asks, out)
		for i := range out {
			if err == nil && out[i].Charged {
				out[i].Remaining, out[i].NextAfter, out[i].ResetAfter = before[i].Remaining, before[i].NextAfter, before[i].ResetAfter
			}
		}
		return now, err
	}
})

var foretells = made(func(b *broken) {
	b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
		now, err := b.Model.Take(ctx, at, asks, out)
		for i, a := range asks {
			if err == nil && a.When == core.Never && out[i].OK {
				state, phase := b.Model.load(a)
				out[i].Judgement = a.Rule.Decide(state, now, phase, a.Cost)
			}
		}
		return now, err
	}
})

var stale = made(func(b *broken) {
	b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
		mine := make([]core.Verdict, len(out))
		now, err := b.Model.Take(ctx, at, asks, mine)
		for i := range mine {
			mine[i].Err = out[i].Err
		}
		copy(out, mine)
		return now, err
	}
})

func respacedPhase(phase func(core.Cell) int64) func() core.Backend {
	return rewritten(func(a *core.Ask) {
		sp := a.Cell.Space
		a.Cell.Space = core.NewSpace(sp.Policy(), sp.Window(), sp.Shape(), nil, phase)
	})
}

// expires forgets cells for being over at the instant of a Take, which may be
// one of theirs or not.
func expires(over func(until, at int64, mine bool) bool) func() core.Backend {
	return made(func(b *broken) {
		rules := map[string]core.Rule{}
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			mine := map[string]bool{}
			for _, a := range asks {
				if a.Rule != nil && a.Cell.Space != nil {
					rules[name(a.Cell)], mine[name(a.Cell)] = a.Rule, true
				}
			}
			for id, s := range b.Model.cells {
				if rule := rules[id]; rule != nil && over(rule.Until(s), at, mine[id]) {
					delete(b.Model.cells, id)
				}
			}
			return b.Model.Take(ctx, at, asks, out)
		}
	})
}

func resets(f func([]core.Cell) []core.Cell) func() core.Backend {
	return made(func(b *broken) {
		b.reset = func(ctx context.Context, cells ...core.Cell) error { return b.Model.Reset(ctx, f(cells)...) }
	})
}

// writesBehind answers from a look, and charges when it is next called.
var writesBehind = made(func(b *broken) {
	var behind []core.Ask
	b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
		if len(behind) > 0 {
			b.Model.Take(ctx, at, behind, make([]core.Verdict, len(behind)))
		}
		behind = asks
		looks := slices.Clone(asks)
		for i := range looks {
			looks[i].When = core.Never
		}
		return b.Model.Take(ctx, at, looks, out)
	}
})

// twoSteps looks first and charges then, when another may have come between.
var twoSteps = made(func(b *broken) {
	b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
		looks, charges := slices.Clone(asks), slices.Clone(asks)
		for i := range looks {
			looks[i].When, charges[i].When = core.Never, core.Always
		}
		now, err := b.Model.Take(ctx, at, looks, out)
		if err != nil {
			return now, err
		}
		runtime.Gosched()
		for i := range out {
			if !out[i].OK && !asks[i].Soft {
				return now, nil
			}
		}
		for i := range asks {
			if out[i].OK && asks[i].When == core.OnAdmit {
				b.Model.Take(ctx, at, charges[i:i+1], make([]core.Verdict, 1))
				out[i].Charged = true
			}
		}
		return now, nil
	}
})

func refuseGrowing(m *Model) func(context.Context, int64, []core.Ask, []core.Verdict) (int64, error) {
	return func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
		for _, a := range asks {
			if a.Rule != nil && a.Rule.Words() == 0 {
				return 0, core.ErrUnsupported
			}
		}
		return m.Take(ctx, at, asks, out)
	}
}
