package backendtest

import (
	"math/rand/v2"
	"time"

	"github.com/stint-go/stint/core"
)

// takeOneIsTake mixes both ways on the same cells, at instants that dwell, step
// and leap: what Take foretells with Never, TakeOne does, and Take finds the cell
// as TakeOne left it.
func takeOneIsTake(s *suite, st strategy) {
	one, ok := s.backend.(core.SingleTaker)
	if !ok {
		return
	}
	s.skipGrowing(st)
	l := s.limit(st, 5, time.Minute)
	seeds := one.Seeds()
	steps := []int64{0, 0, 1, l.window() / 7, 0, l.window() / 2, 0, 0, l.window() - 1, 3 * l.window()}
	now, r := int64(epoch), rand.New(rand.NewPCG(5, uint64(len(st.name))))
	for i := range 400 {
		now += steps[r.IntN(len(steps))]
		a := when(core.When(r.IntN(4)), l.ask("k", []int64{0, 1, 1, 2, 5, 6}[r.IntN(6)]))
		foretold := s.take(now, peek(a))[0]
		got, figures, err := one.TakeOne(now, a.Cell.Space, a.Rule, a.Cell.Key.Print(seeds), a.Cost, a.When)
		if err != nil || got.Now != now {
			s.Fatalf("step %d: TakeOne at %d: instant %d, error %v", i, now, got.Now, err)
		}
		charged := a.When == core.Always || a.When == core.OnAdmit && foretold.OK || a.When == core.OnRefuse && !foretold.OK
		if got.OK != foretold.OK || got.Charged != charged && a.Cost > 0 {
			s.Fatalf("step %d: %v of %d: OK %v, charged %v; want %v, %v", i, a.When, a.Cost, got.OK, got.Charged, foretold.OK, charged)
		}
		after := s.take(now, cost(0, peek(a)))[0]
		if figures.Remaining != after.Remaining || figures.NextAfter != after.NextAfter || figures.ResetAfter != after.ResetAfter {
			s.Fatalf("step %d: TakeOne says %+v, the cell is %+v", i, figures, after.Judgement)
		}
		if !got.OK {
			if again := s.take(now, peek(a))[0]; figures.RetryAfter != again.RetryAfter {
				s.Fatalf("step %d: TakeOne promises %d, Take %d", i, figures.RetryAfter, again.RetryAfter)
			}
		}
	}
	for name, bad := range map[string]core.Ask{"a negative cost": cost(-1, l.ask("bad", 1)), "no rule": under(nil, l.ask("bad", 1)), "no space": within(nil, l.ask("bad", 1))} {
		if _, _, err := one.TakeOne(now, bad.Cell.Space, bad.Rule, bad.Cell.Key.Print(seeds), bad.Cost, bad.When); err == nil {
			s.Errorf("TakeOne took %s", name)
		}
	}
}
