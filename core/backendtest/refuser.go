package backendtest

import (
	"context"
	"time"

	"github.com/stint-go/stint/core"
)

// refusedFromMemory holds a core.Refuser to its Take, by the own clock.
func refusedFromMemory(s *suite, st strategy) {
	f, ok := s.backend.(core.Refuser)
	if !ok || f.Seeds() == nil {
		return
	}
	s.skipGrowing(st)
	l := s.limit(st, 3, 24*time.Hour)
	free := s.limit(st, 100, 24*time.Hour)
	full := func(key string) (a core.Ask, rc core.Receipt) {
		a = l.ask(key, 1)
		for range l.quota() {
			s.fromMemory(f, a)
			rc = s.take(0, a)[0].Receipt
		}
		for range 2 {
			if s.take(0, a)[0].OK {
				s.Fatal("a full cell admits")
			}
		}
		return a, rc
	}

	a, _ := full("full")
	for name, asks := range map[string][]core.Ask{
		"the same":        {a},
		"a look":          {peek(a)},
		"cost 0":          {cost(0, a)},
		"twice the cost":  {cost(2, a)},
		"a higher limit":  {under(s.bind(st, 100, 24*time.Hour), a)},
		"beside another":  {free.ask("full", 1), a},
		"another alone":   {free.ask("full", 1)},
		"another's space": {within(free.space, a)},
		"another key":     {l.ask("other", 1)},
	} {
		s.fromMemory(f, asks...)
		if s.fromMemory(f, asks...) {
			s.Logf("%s: from memory", name)
		}
	}
	beside := []core.Ask{free.ask("full", 1), a}
	s.take(0, beside...)
	s.fromMemory(f, beside...)
	for name, other := range map[string]core.Ask{
		"a soft ask": soft(a), "an ask that is always charged": when(core.Always, a), "a strike": when(core.OnRefuse, a),
	} {
		for _, asks := range [][]core.Ask{{other}, {free.ask("full", 1), other}} {
			if which, _ := f.Refuse(asks); which >= 0 {
				s.Errorf("%s was refused from memory", name)
			}
		}
	}

	a, _ = full("reset")
	if err := s.backend.Reset(context.Background(), a.Cell); err != nil {
		s.Fatal(err)
	}
	s.fromMemory(f, a)

	a, rc := full("refunded")
	if err := s.backend.Settle(context.Background(), 0, []core.Ask{a}, []core.Receipt{rc}, []int64{-1}); err != nil {
		s.Fatal(err)
	}
	s.fromMemory(f, a)

	a = l.ask("looked at", l.quota()+1)
	s.take(0, peek(a))
	if which, _ := f.Refuse([]core.Ask{a}); which >= 0 {
		s.Error("a look was remembered")
	}
}

// fromMemory tells whether a decision is refused from memory; Take would then
// refuse it, too, with the same figures but for the time between.
func (s *suite) fromMemory(f core.Refuser, asks ...core.Ask) bool {
	s.Helper()
	which, o := f.Refuse(asks)
	if len(asks) == 1 {
		one, refused := f.RefuseOne(asks[0].Cell.Space, asks[0].Rule, asks[0].Cell.Key.Print(f.Seeds()), asks[0].Cost)
		if refused != (which == 0) || refused && (one.Remaining != o.Remaining || one.RetryAfter > o.RetryAfter) {
			s.Errorf("Refuse answers %d %+v, RefuseOne %v %+v", which, o, refused, one)
		}
	}
	if which < 0 {
		return false
	}
	looks := append([]core.Ask(nil), asks...)
	for i := range looks {
		looks[i].When = core.Never
	}
	out := s.take(0, looks...)
	longest := int64(0)
	for _, v := range out {
		longest = max(longest, v.RetryAfter)
	}
	near := func(got, want int64) bool {
		return got == want || want <= got && got-want < time.Minute.Microseconds()
	}
	v := out[which]
	if v.OK || o.OK || o.Charged || o.Remaining != v.Remaining || !near(o.RetryAfter, longest) ||
		!near(o.NextAfter, v.NextAfter) || !near(o.ResetAfter, v.ResetAfter) {
		s.Errorf("refused from memory with %+v; Take says %+v", o.Judgement, v.Judgement)
	}
	return true
}
