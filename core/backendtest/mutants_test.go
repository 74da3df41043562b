package backendtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stint-go/stint/core"
)

// A broken backend is the model with one thing wrong.
type broken struct {
	*Model
	take   func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error)
	settle func(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error
	reset  func(ctx context.Context, cells ...core.Cell) error
}

func (b *broken) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	if b.take != nil {
		return b.take(ctx, at, asks, out)
	}
	return b.Model.Take(ctx, at, asks, out)
}

func (b *broken) Settle(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
	if b.settle != nil {
		return b.settle(ctx, at, asks, rs, delta)
	}
	return b.Model.Settle(ctx, at, asks, rs, delta)
}

func (b *broken) Reset(ctx context.Context, cells ...core.Cell) error {
	if b.reset != nil {
		return b.reset(ctx, cells...)
	}
	return b.Model.Reset(ctx, cells...)
}

// rewritten misreads every ask in the same way.
func rewritten(f func(a *core.Ask)) func() core.Backend {
	return func() core.Backend {
		b := &broken{Model: new(Model)}
		misread := func(asks []core.Ask) []core.Ask {
			asks = slices.Clone(asks)
			for i := range asks {
				if asks[i].Cell.Space != nil && asks[i].Rule != nil {
					f(&asks[i])
				}
			}
			return asks
		}
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			return b.Model.Take(ctx, at, misread(asks), out)
		}
		b.settle = func(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
			return b.Model.Settle(ctx, at, misread(asks), rs, delta)
		}
		b.reset = func(ctx context.Context, cells ...core.Cell) error {
			cells = slices.Clone(cells)
			for i := range cells {
				a := core.Ask{Cell: cells[i], Rule: quotaRule{}}
				f(&a)
				cells[i] = a.Cell
			}
			return b.Model.Reset(ctx, cells...)
		}
		return b
	}
}

// respaced misreads the name of the cell's space.
func respaced(f func(sp *core.Space, a *core.Ask) (policy string, window int64, shape string)) func() core.Backend {
	return rewritten(func(a *core.Ask) {
		policy, window, shape := f(a.Cell.Space, a)
		a.Cell.Space = core.NewSpace(policy, window, shape, nil, phaseOf(a.Cell))
	})
}

// rekeyed misreads the encoding of the key.
func rekeyed(f func([]byte) []byte) func() core.Backend {
	return rewritten(func(a *core.Ask) {
		sp := a.Cell.Space
		phase := phaseOf(a.Cell)
		a.Cell.Key = core.NewKey("", string(f(a.Cell.Key.Append(nil))))
		a.Cell.Space = core.NewSpace(sp.Policy(), sp.Window(), sp.Shape(), nil, phase)
	})
}

// phaseOf keeps a cell's phase, whatever becomes of its name.
func phaseOf(c core.Cell) func(core.Cell) int64 {
	phase := c.Phase(uint64(keyPhase(c)))
	return func(core.Cell) int64 { return phase }
}

// judged spoils verdicts.
func judged(f func(a core.Ask, v *core.Verdict)) func() core.Backend {
	return func() core.Backend {
		b := &broken{Model: new(Model)}
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			now, err := b.Model.Take(ctx, at, asks, out)
			if err == nil {
				for i := range out {
					f(asks[i], &out[i])
				}
			}
			return now, err
		}
		return b
	}
}

// timed spoils instants: the model sees another one than it should.
func timed(f func(at int64, c core.Cell) int64) func() core.Backend {
	return func() core.Backend {
		b := &broken{Model: new(Model)}
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			if at == 0 || len(asks) == 0 {
				return b.Model.Take(ctx, at, asks, out)
			}
			_, err := b.Model.Take(ctx, f(at, asks[0].Cell), asks, out)
			return at, err
		}
		return b
	}
}

// made is for what none of the above can say.
func made(f func(b *broken)) func() core.Backend {
	return func() core.Backend {
		b := &broken{Model: new(Model)}
		f(b)
		return b
	}
}

type mutant struct {
	name   string
	make   func() core.Backend
	caught []string // by these checks
}

const timelines = "random timelines agree with the model"

var mutants = []mutant{
	{"soft asks veto", rewritten(func(a *core.Ask) { a.Soft = false }), []string{
		"soft asks follow their own verdict", timelines}},
	{"hard asks are charged one by one", splits, []string{
		"hard asks are all or nothing", "contention on several cells is all or nothing", timelines}},
	{"groups are one decision", rewritten(func(a *core.Ask) { a.Group = 0 }), []string{
		"decisions of one Take are made in order", timelines}},
	{"equal groups are one decision wherever they stand", gathers, []string{
		"decisions of one Take are made in order"}},
	{"key memory is kept", keepsKeys, []string{"no key's memory is kept"}},
	{"refunds are made at now", refundsAtNow, []string{"refunds go by receipt", timelines}},
	{"refunds count twice", settled(func(d int64) int64 { return min(d, 2*d) }), []string{
		"refunds go by receipt", "contention with refunds never admits more", timelines}},
	{"refunds are dropped", settled(func(d int64) int64 { return max(d, 0) }), []string{"refunds go by receipt", timelines}},
	{"debt is dropped", settled(func(d int64) int64 { return min(d, 0) }), []string{
		"debt goes beyond full and creates the cell", timelines}},
	{"debt creates no cell", debtNeedsCell, []string{"debt goes beyond full and creates the cell"}},
	{"corrections are made backwards", settlesBackwards, []string{"corrections are made in order"}},
	{"refusals are charged", rewhen(core.OnAdmit, core.Always), []string{"a refusal changes nothing", timelines}},
	{"refusals are not charged even where they should", rewhen(core.Always, core.OnAdmit), []string{"every When charges as it says", timelines}},
	{"strikes are dropped", rewhen(core.OnRefuse, core.Never), []string{"every When charges as it says", timelines}},
	{"peeks are charged", rewhen(core.Never, core.OnAdmit), []string{"a peek changes nothing", timelines}},
	{"charged refusals carry a receipt", judged(func(_ core.Ask, v *core.Verdict) {
		if v.Charged && !v.OK {
			v.Receipt.A = 1
		}
	}), []string{"every When charges as it says"}},
	{"figures are of before the step", beforehand, []string{"verdicts describe the cell after the step", timelines}},
	{"figures of a look foretell the charge", foretells, []string{"a peek changes nothing", timelines}},
	{"waits are rounded to milliseconds", judged(func(_ core.Ask, v *core.Verdict) {
		if v.RetryAfter != core.Forever {
			v.RetryAfter = (v.RetryAfter + 999) / 1000 * 1000
		}
	}), []string{timelines}},
	{"waits are a microsecond long", judged(func(_ core.Ask, v *core.Verdict) { v.RetryAfter++ }), []string{
		"a refusal changes nothing", timelines}},
	{"never is a very long wait", judged(func(_ core.Ask, v *core.Verdict) {
		v.RetryAfter = min(v.RetryAfter, core.MaxWindow)
	}), []string{"a cost above the quota waits for ever"}},
	{"costs are 32 bits wide", rewritten(func(a *core.Ask) { a.Cost = int64(int32(a.Cost)) & 0x7fffffff }), []string{
		"a cost above the quota waits for ever"}},
	{"old verdicts shine through", stale, []string{"a peek changes nothing"}},
	{"the phase is the backend's always", respacedPhase(nil), []string{"an injected phase is honoured", timelines}},
	{"windows are not staggered", respacedPhase(func(core.Cell) int64 { return 0 }), []string{
		"windows of many keys end spread out", "an injected phase is honoured"}},
	{"the clock is the wall's", timed(func(int64, core.Cell) int64 { return 0 }), []string{
		"explicit instants ignore the wall clock", timelines}},
	{"seconds are 32 bits wide", timed(func(at int64, _ core.Cell) int64 { return at%(1<<32*1e6) | 1 }), []string{
		"explicit instants ignore the wall clock"}},
	{"instants are milliseconds", timed(func(at int64, _ core.Cell) int64 { return max(1, at/1000*1000) }), []string{
		"explicit instants ignore the wall clock", timelines}},
	{"time stands still", timed(func(at int64, _ core.Cell) int64 { return min(at, epoch) }), []string{
		"an expired cell starts again", timelines}},
	{"cells expire early", expires(func(until, at int64, mine bool) bool { return mine && at >= until-1 }), []string{
		"an expired cell starts again", timelines}},
	{"cells expire by the instants of others", expires(func(until, at int64, _ bool) bool { return at >= until }), []string{
		"instants are each cell's own"}},
	{"a reset does nothing", resets(func(cells []core.Cell) []core.Cell { return nil }), []string{
		"a reset empties the cells it names and no others", timelines}},
	{"a reset empties the first cell only", resets(func(cells []core.Cell) []core.Cell { return cells[:min(1, len(cells))] }), []string{
		"a reset empties the cells it names and no others"}},
	{"a reset empties everything", made(func(b *broken) {
		b.reset = func(context.Context, ...core.Cell) error { b.Model.cells = nil; return nil }
	}), []string{"a reset empties the cells it names and no others"}},
	{"the limit is part of the cell", respaced(func(sp *core.Space, a *core.Ask) (string, int64, string) {
		units, _ := a.Rule.Quota()
		return fmt.Sprint(sp.Policy(), units), sp.Window(), sp.Shape()
	}), []string{"a changed limit keeps what is consumed", timelines}},
	{"unheard-of strategies are refused", made(func(b *broken) {
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			for _, a := range asks {
				if a.Rule != nil && strings.HasPrefix(a.Rule.Shape(), "backendtest") {
					return 0, core.ErrUnsupported
				}
			}
			return b.Model.Take(ctx, at, asks, out)
		}
	}), []string{"a strategy that no backend has heard of works"}},
	{"policies are mixed up", respaced(func(sp *core.Space, _ *core.Ask) (string, int64, string) {
		return "", sp.Window(), sp.Shape()
	}), []string{"cells are kept apart"}},
	{"policies have no case", respaced(func(sp *core.Space, _ *core.Ask) (string, int64, string) {
		return strings.ToLower(sp.Policy()), sp.Window(), sp.Shape()
	}), []string{"cells are kept apart"}},
	{"windows are mixed up", respaced(func(sp *core.Space, _ *core.Ask) (string, int64, string) {
		return sp.Policy(), 60e6, sp.Shape()
	}), []string{"cells are kept apart"}},
	{"shapes are mixed up", respaced(func(sp *core.Space, _ *core.Ask) (string, int64, string) {
		return sp.Policy(), sp.Window(), "any"
	}), []string{"cells are kept apart"}},
	{"names are joined without lengths", respaced(func(sp *core.Space, _ *core.Ask) (string, int64, string) {
		return sp.Policy() + fmt.Sprint(sp.Window()/1e6), 60e6, sp.Shape()
	}), []string{"cells are kept apart"}},
	{"long keys are cut", rekeyed(func(k []byte) []byte { return k[:min(len(k), 250)] }), []string{"cells are kept apart"}},
	{"keys end at a zero byte", rekeyed(func(k []byte) []byte { k, _, _ = bytes.Cut(k, []byte{0}); return k }), []string{"cells are kept apart"}},
	{"keys are trimmed", rekeyed(bytes.TrimSpace), []string{"cells are kept apart"}},
	{"keys have no case", rekeyed(bytes.ToLower), []string{"cells are kept apart"}},
	{"keys are made UTF-8", rekeyed(func(k []byte) []byte { return bytes.ToValidUTF8(k, nil) }), []string{"cells are kept apart"}},
	{"kinds of keys are mixed up", rekeyed(func(k []byte) []byte { return k[min(1, len(k)):] }), []string{"cells are kept apart"}},
	{"spaces are told apart by address", respaced(func(sp *core.Space, _ *core.Ask) (string, int64, string) {
		return fmt.Sprintf("%p", sp), sp.Window(), sp.Shape()
	}), []string{"spaces of equal content are the same cells"}},
	{"asks are sorted in place", made(func(b *broken) {
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			slices.Reverse(asks)
			defer slices.Reverse(out)
			return b.Model.Take(ctx, at, asks, out)
		}
	}), []string{"no ask is kept or changed"}},
	{"asks are written behind", writesBehind, []string{"no ask is kept or changed"}},
	{"the own clock goes back", made(func(b *broken) {
		calls := int64(0)
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			now, err := b.Model.Take(ctx, at, asks, out)
			calls++
			return now - calls*1e6, err
		}
	}), []string{"the own clock is plausible and never goes back"}},
	{"the own clock counts milliseconds", made(func(b *broken) {
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			now, err := b.Model.Take(ctx, at, asks, out)
			return now / 1000, err
		}
	}), []string{"the own clock is plausible and never goes back"}},
	{"a done context is not looked at", made(func(b *broken) {
		b.take = func(_ context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			return b.Model.Take(context.Background(), at, asks, out)
		}
	}), []string{"a cancelled context costs nothing"}},
	{"a done context is looked at too late", made(func(b *broken) {
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			now, _ := b.Model.Take(context.Background(), at, asks, out)
			return now, ctx.Err()
		}
	}), []string{"a cancelled context costs nothing"}},
	{"negative costs give", rewritten(func(a *core.Ask) { a.Cost = max(0, a.Cost) }), []string{"bad input is an error and costs nothing"}},
	{"bad input is found after the charge", made(func(b *broken) {
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			if len(out) != len(asks) && len(asks) > 0 {
				b.Model.Take(ctx, at, asks, make([]core.Verdict, len(asks)))
			}
			return b.Model.Take(ctx, at, asks, out)
		}
	}), []string{"bad input is an error and costs nothing"}},
	{"bad input panics", made(func(b *broken) {
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			_ = asks[0].Rule.Words()
			return b.Model.Take(ctx, at, asks, out)
		}
	}), []string{"bad input is an error and costs nothing"}},
	{"judging and charging are two steps", twoSteps, []string{
		"contention on one cell admits exactly the limit",
		"contention by the own clock admits exactly the limit",
		"contention on several cells is all or nothing",
		"contention of mixed decisions loses no charge"}},
	{"rules that grow are refused without saying so", made(func(b *broken) { b.take = refuseGrowing(b.Model) }), []string{
		"hard asks are all or nothing"}},
}

// on runs a check on a fresh backend per strategy until one fails.
func (c check) on(tb testing.TB, make func() core.Backend, o Options) (failed bool) {
	if c.once != nil {
		return record(tb, func(tb testing.TB) { c.once(newSuite(tb, make(), o)) }).failed
	}
	for _, st := range strategies {
		if record(tb, func(tb testing.TB) { c.each(newSuite(tb, make(), o), st) }).failed {
			return true
		}
	}
	return false
}

func TestEveryMutantIsCaught(t *testing.T) {
	t.Setenv("STINT_SEED", "1")
	t.Setenv("STINT_LONG", "")
	useful := map[string]bool{ // these have tests of their own
		"rules that grow are refused where that is declared": true,
		"TakeOne is Take": true,
		"what is refused from memory Take would refuse": true,
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			for _, name := range m.caught {
				useful[name] = true
				if !find(t, name).on(t, m.make, Options{}) {
					t.Errorf("not caught by %q", name)
				}
			}
		})
	}
	for _, c := range checks {
		if !useful[c.name] {
			t.Errorf("no mutant shows that %q can fail", c.name)
		}
	}
}

// Without its defect no mutant is caught: what the test above sees is the defect.
func TestTheToolsOfMutationBreakNothing(t *testing.T) {
	t.Setenv("STINT_SEED", "1")
	t.Setenv("STINT_LONG", "")
	for name, make := range map[string]func() core.Backend{
		"rewritten": rewritten(func(*core.Ask) {}),
		"respaced":  respaced(func(sp *core.Space, _ *core.Ask) (string, int64, string) { return sp.Policy(), sp.Window(), sp.Shape() }),
		"rekeyed":   rekeyed(func(k []byte) []byte { return k }),
		"judged":    judged(func(core.Ask, *core.Verdict) {}),
		"timed":     timed(func(at int64, _ core.Cell) int64 { return at }),
		"settled":   settled(func(d int64) int64 { return d }),
		"expires":   unconcurrent(expires(func(until, at int64, mine bool) bool { return mine && at >= until })),
		"resets":    resets(func(cells []core.Cell) []core.Cell { return cells }),
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, func(*testing.T) core.Backend { return make() })
		})
	}
}

// unconcurrent puts a lock around a backend that needs one.
func unconcurrent(make func() core.Backend) func() core.Backend {
	return func() core.Backend {
		var mu sync.Mutex
		inner := make()
		b := &broken{Model: new(Model)}
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			mu.Lock()
			defer mu.Unlock()
			return inner.Take(ctx, at, asks, out)
		}
		b.settle = func(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
			mu.Lock()
			defer mu.Unlock()
			return inner.Settle(ctx, at, asks, rs, delta)
		}
		b.reset = func(ctx context.Context, cells ...core.Cell) error {
			mu.Lock()
			defer mu.Unlock()
			return inner.Reset(ctx, cells...)
		}
		return b
	}
}
