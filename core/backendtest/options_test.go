package backendtest

import (
	"context"
	"fmt"
	"hash/maphash"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stint-go/stint/core"
)

func find(t *testing.T, name string) check {
	t.Helper()
	i := slices.IndexFunc(checks, func(c check) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("no check is called %q", name)
	}
	return checks[i]
}

func TestNoGrowingIsARefusal(t *testing.T) {
	refuses := made(func(b *broken) { b.take = refuseGrowing(b.Model) })
	Options{NoGrowing: true, Slow: true}.Run(t, func(*testing.T) core.Backend { return refuses() })

	declared := find(t, "rules that grow are refused where that is declared")
	if !declared.on(t, func() core.Backend { return new(Model) }, Options{NoGrowing: true}) {
		t.Error("a backend that declares NoGrowing and takes them all the same was not found out")
	}
	halfway := made(func(b *broken) { // refuses when the ask's turn comes
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
			for i, a := range asks {
				if a.Rule != nil && a.Rule.Words() == 0 {
					b.Model.Take(ctx, at, asks[:i], out[:i])
					return 0, core.ErrUnsupported
				}
			}
			return b.Model.Take(ctx, at, asks, out)
		}
	})
	if !declared.on(t, halfway, Options{NoGrowing: true}) {
		t.Error("a backend that charges before it refuses was not found out")
	}
}

// reserving decides cell by cell and takes back what a refusal makes void, as
// where no script reaches all cells of a decision.
func reserving(rollBack bool) func() core.Backend {
	return made(func(b *broken) {
		b.take = func(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (now int64, err error) {
			if ctx.Err() != nil || len(asks) < 2 || len(out) != len(asks) || !valid(asks) {
				return b.Model.Take(ctx, at, asks, out)
			}
			for first, i := 0, 1; i <= len(asks); i++ {
				if i == len(asks) || asks[i].Group != asks[first].Group {
					now = reserve(ctx, b.Model, at, asks[first:i], out[first:i], rollBack)
					first = i
				}
			}
			return now, nil
		}
	})
}

func reserve(ctx context.Context, m *Model, at int64, asks []core.Ask, out []core.Verdict, rollBack bool) (now int64) {
	admitted, reserved := true, make([]core.Receipt, len(asks))
	for i, a := range asks {
		if a.When = core.OnAdmit; a.Soft {
			continue
		}
		now, _ = m.Take(ctx, at, []core.Ask{a}, out[i:i+1])
		admitted = admitted && out[i].OK
		reserved[i], out[i].Receipt = out[i].Receipt, core.Receipt{}
		runtime.Gosched()
	}
	// Every charge becomes what it has to be: kept, or taken back and made again.
	for i, a := range asks {
		v := &out[i]
		if a.Soft {
			now, _ = m.Take(ctx, at, []core.Ask{a}, out[i:i+1])
			continue
		}
		due := a.When == core.Always || a.When == core.OnAdmit && admitted || a.When == core.OnRefuse && !admitted
		if v.OK && admitted && due {
			v.Receipt = reserved[i]
			continue
		}
		ok := v.OK
		if ok && rollBack {
			m.Settle(ctx, at, []core.Ask{a}, reserved[i:i+1], []int64{-a.Cost})
		}
		if a.When = core.Never; due {
			a.When = core.Always
		}
		m.Take(ctx, at, []core.Ask{a}, out[i:i+1])
		v.OK, v.Receipt = ok, core.Receipt{}
	}
	return now
}

func TestProvisionalIsForReserving(t *testing.T) {
	Options{Provisional: true}.Run(t, func(*testing.T) core.Backend { return reserving(true)() })

	cells := find(t, "contention on several cells is all or nothing")
	if !cells.on(t, reserving(true), Options{}) {
		t.Error("a backend whose decisions refuse one another was not found out")
	}
	if !cells.on(t, reserving(false), Options{Provisional: true}) {
		t.Error("a backend that reserves and does not take back was not found out")
	}
}

// oneWay is a Model with a TakeOne: its cells go by the prints of their keys.
type oneWay struct {
	Model
	seeds [2]maphash.Seed
	flaw  func(*core.Ask)
}

func newOneWay(flaw func(*core.Ask)) core.Backend {
	return &oneWay{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, flaw: flaw}
}

func printed(p core.Print) core.Key { return core.NewKey("print", fmt.Sprint(p)) }

func (b *oneWay) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	asks = slices.Clone(asks)
	for i := range asks {
		asks[i].Cell.Key = printed(asks[i].Cell.Key.Print(&b.seeds))
	}
	return b.Model.Take(ctx, at, asks, out)
}

func (b *oneWay) Seeds() *[2]maphash.Seed { return &b.seeds }

func (b *oneWay) TakeOne(at int64, space *core.Space, rule core.Rule, key core.Print, cost int64, when core.When) (o core.Taken, f core.Figures, err error) {
	asks := []core.Ask{{Cell: core.Cell{Space: space, Key: printed(key)}, Rule: rule, Cost: cost, When: when}}
	b.flaw(&asks[0])
	var out [1]core.Verdict
	o.Now, err = b.Model.Take(context.Background(), at, asks, out[:])
	o.OK, o.Charged = out[0].OK, out[0].Charged
	return o, out[0].Figures(), err
}

func TestTakeOneIsTake(t *testing.T) {
	c := find(t, "TakeOne is Take")
	if c.on(t, func() core.Backend { return newOneWay(func(*core.Ask) {}) }, Options{}) {
		t.Error("a TakeOne that is Take was found out")
	}
	for name, flaw := range map[string]func(*core.Ask){
		"charges always":   func(a *core.Ask) { a.When = core.Always },
		"charges never":    func(a *core.Ask) { a.When = core.Never },
		"charges too much": func(a *core.Ask) { a.Cost *= 2 },
		"other cells":      func(a *core.Ask) { a.Cell.Key = core.NewKey("other", "") },
	} {
		if !c.on(t, func() core.Backend { return newOneWay(flaw) }, Options{}) {
			t.Errorf("%s: not found out", name)
		}
	}
}

// remembering is a Model that remembers the last refusals of single asks, with a
// flaw: what it does not look at, or forget.
type remembering struct {
	Model
	seeds [2]maphash.Seed
	last  map[any]core.Verdict
	flaw  string
}

func (b *remembering) Seeds() *[2]maphash.Seed { return &b.seeds }

// id is what a refusal is remembered by.
func (b *remembering) id(space *core.Space, rule core.Rule, key core.Print, cost int64) any {
	units, window := rule.Quota()
	switch b.flaw {
	case "any cost":
		cost = 0
	case "any limit":
		units, window = 0, 0
	case "any key":
		key = core.Print{}
	case "any space":
		return [4]any{units, window, key, cost}
	}
	return [5]any{space.ID(), units, window, key, cost}
}

func (b *remembering) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	now, err := b.Model.Take(ctx, at, asks, out)
	if a := asks[0]; err == nil && len(asks) == 1 && a.Rule != nil && !out[0].OK && !a.Soft && (a.When == core.OnAdmit || b.flaw == "looks") {
		v := out[0]
		if b.flaw == "figures" {
			v.Remaining++
		}
		b.last[b.id(a.Cell.Space, a.Rule, a.Cell.Key.Print(&b.seeds), a.Cost)] = v
	}
	return now, err
}

func (b *remembering) RefuseOne(space *core.Space, rule core.Rule, key core.Print, cost int64) (core.Outcome, bool) {
	v, ok := b.last[b.id(space, rule, key, cost)]
	return core.Outcome{Judgement: v.Judgement}, ok
}

func (b *remembering) Refuse(asks []core.Ask) (int, core.Outcome) {
	a := asks[0]
	if len(asks) > 1 && b.flaw != "beside" || b.flaw != "soft" && a.Soft ||
		b.flaw != "strikes" && (a.When == core.Always || a.When == core.OnRefuse) {
		return -1, core.Outcome{}
	}
	if b.flaw == "beside" {
		a = asks[len(asks)-1]
	}
	if o, ok := b.RefuseOne(a.Cell.Space, a.Rule, a.Cell.Key.Print(&b.seeds), a.Cost); ok {
		return 0, o
	}
	return -1, core.Outcome{}
}

func (b *remembering) Settle(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
	if b.flaw != "refunds" {
		clear(b.last)
	}
	return b.Model.Settle(ctx, at, asks, rs, delta)
}

func (b *remembering) Reset(ctx context.Context, cells ...core.Cell) error {
	if b.flaw != "resets" {
		clear(b.last)
	}
	return b.Model.Reset(ctx, cells...)
}

func TestRefusedFromMemory(t *testing.T) {
	c := find(t, "what is refused from memory Take would refuse")
	for _, flaw := range []string{"", "any cost", "any limit", "any key", "any space", "looks", "figures", "beside", "soft", "strikes", "refunds", "resets"} {
		found := c.on(t, func() core.Backend {
			return &remembering{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, last: map[any]core.Verdict{}, flaw: flaw}
		}, Options{})
		if found != (flaw != "") {
			t.Errorf("flaw %q: found out %v", flaw, found)
		}
	}
}

// A failing timeline is short, readable, and comes back with its seed.
func TestTimelinesAreShortenedAndReproducible(t *testing.T) {
	t.Setenv("STINT_LONG", "")
	t.Setenv("STINT_SEED", "")
	wrong := rewhen(core.Always, core.OnAdmit)
	fail := func() *recorder {
		r := record(t, func(tb testing.TB) { randomTimelines(newSuite(tb, wrong(), Options{})) })
		if !r.failed {
			t.Fatal("the mutant was not caught")
		}
		return r
	}
	seed := regexp.MustCompile(`STINT_SEED=(\d+)`)
	first := fail()
	t.Setenv("STINT_SEED", seed.FindStringSubmatch(first.log)[1])
	if again := fail(); again.log != first.log {
		t.Errorf("the seed does not reproduce the failure:\n%s\nand then\n%s", first.log, again.log)
	}
	if lines := strings.Count(first.log, "\n"); lines > 8 {
		t.Errorf("a failure that two steps can show takes %d lines:\n%s", lines, first.log)
	}
}
