package backendtest

import (
	"math"
	"time"

	"github.com/stint-go/stint/core"
)

func allOrNothing(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	a, b := s.limit(st, 3, time.Minute), s.limit(st, 5, time.Hour)
	h.take(0, "+", a.ask("k", a.quota()))
	h.take(0, "-o", a.ask("k", 1), b.ask("k", 1))
	h.take(0, "o-", b.ask("k", 1), a.ask("k", 1))
	h.take(0, "o-o", b.ask("k", 1), a.ask("k", 1), b.ask("other", 1))
	h.take(0, "o", peek(b.ask("k", b.quota())))
	h.take(0, "++", b.ask("k", b.quota()), b.ask("other", 1))
	h.take(0, "-", b.ask("k", 1))
}

func softAndHard(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	l := s.limit(st, 4, time.Minute)
	full, all := l.ask("full", 1), l.quota()
	h.take(0, "+", cost(all, full))

	// A soft ask neither vetoes nor is vetoed, nor does it follow another.
	h.take(0, "+-", l.ask("a", 1), soft(full))
	h.take(0, "-+", full, soft(l.ask("b", 1)))
	h.take(0, "-o+", full, l.ask("a", 1), soft(l.ask("b", 1)))
	h.take(0, "-+", soft(full), soft(l.ask("c", all)))
	h.take(0, "o", peek(l.ask("a", all-1)))
	h.take(0, "-", peek(l.ask("a", all)))
	h.take(0, "o", peek(l.ask("b", all-2)))
	h.take(0, "-", peek(l.ask("b", all-1)))
	h.take(0, "-", l.ask("c", 1))

	// Admitted and refused mean its own verdict.
	h.take(0, "+x", l.ask("a", 1), soft(when(core.OnRefuse, full)))
	h.take(0, "-+", full, soft(when(core.Always, l.ask("d", 1))))
	h.take(0, "-o", full, soft(when(core.OnRefuse, l.ask("d", 1))))
	h.take(0, "-o", full, soft(peek(l.ask("d", 1))))
	h.take(0, "o", peek(l.ask("d", all-1)))
	h.take(0, "-", peek(l.ask("d", all)))
}

func everyWhen(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	l := s.limit(st, 4, time.Minute)
	all := l.quota()
	for _, c := range []struct {
		when                      core.When
		admitted, refused, vetoed string
	}{
		{core.OnAdmit, "+", "-", "o"},
		{core.OnRefuse, "o", "x", "+"},
		{core.Always, "+", "x", "+"},
		{core.Never, "o", "-", "o"},
	} {
		key := [...]string{"admit", "refuse", "always", "never"}[c.when]
		h.take(0, c.admitted, when(c.when, l.ask(key, 1)))
		full := l.ask(key+" full", 1)
		h.take(0, "+", cost(all, full))
		h.take(0, "-"+c.vetoed, full, when(c.when, l.ask(key+" vetoed", 1)))
		for i := range int64(3) { // being refused fills up once, not ever more
			h.take(i, c.refused, when(c.when, full))
		}
		for i := range int64(9) {
			h.follow(i*l.window()/4, full)
		}
	}

	// Charging a refusal fills up what was left.
	part := l.ask("part", 1)
	h.take(0, "+", part)
	h.take(0, "x", when(core.Always, cost(all, part)))
	h.take(0, "-", part)

	// A ban: strikes in a cell that only refusals charge.
	door, strikes := l.ask("door", 1), when(core.OnRefuse, l.ask("strikes", 1))
	h.take(0, "+o", cost(all, door), strikes)
	for range all {
		h.take(0, "-+", door, strikes)
	}
	h.take(0, "-x", door, strikes)
	h.take(0, "-", peek(strikes))
}

func groupsInOrder(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	l := s.limit(st, 4, time.Minute)
	a, b, all := l.ask("a", 1), l.ask("b", 1), l.quota()
	h.take(0, "o+-", group(1, peek(a)), group(2, cost(all, a)), group(1, peek(a)))
	h.take(0, "-+", group(0, a), group(1, b))                // refused alone
	h.take(0, "o-+", group(7, b), group(7, a), group(-7, b)) // one decision, then another
	h.take(0, "+-+-", group(0, l.ask("c", 1)), group(1, a), group(2, l.ask("c", all-1)), group(3, l.ask("c", 1)))
	h.take(0, "-+-x", group(0, a), group(0, soft(l.ask("d", all))), group(1, l.ask("d", 1)), group(2, when(core.OnRefuse, l.ask("d", 1))))
}

func peekChangesNothing(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	l := s.limit(st, 5, time.Minute)
	a, all := l.ask("k", 1), l.quota()
	look := func(after int64) {
		for _, n := range []int64{0, 1, all, all + 1} {
			h.follow(after, peek(cost(n, a)))
			h.follow(after, peek(soft(cost(n, a))))
		}
	}
	look(0)
	h.take(1, "+", cost(all, a))
	look(1)
	look(l.window() / 2)
	retry := h.take(l.window()/2, "-", cost(all, a))[0].RetryAfter
	look(l.window()/2 + retry - 1)
	h.take(l.window()/2+retry, "+", cost(all, a))
}

func refusalChangesNothing(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	l := s.limit(st, 5, time.Minute)
	a, all := l.ask("k", 1), l.quota()
	h.take(0, "+", cost(all, a))
	for _, n := range []int64{1, all} {
		start := int64(0)
		if n == all {
			start = 2 * l.window()
			h.follow(start, a)
		}
		retry := h.take(start, "-", cost(n, a))[0].RetryAfter
		for i := range int64(20) {
			h.take(start+i*retry/20, "-", cost(n, a))
		}
		h.take(start+retry-1, "-", cost(n, a))
		h.take(start+retry, "+", cost(n, a))
	}
}

func figuresAfterTheStep(s *suite, st strategy) {
	s.skipGrowing(st)
	l := s.limit(st, 6, time.Minute)
	all := l.quota()
	for used := range all + 1 {
		h := s.history()
		a := l.ask(string(rune('a'+used)), used)
		v := h.take(0, "+", a)[0]
		if v.Remaining != all-used {
			h.Fatalf("%s: %d of %d used, Remaining is %d", l.label, used, all, v.Remaining)
		}
		h.take(0, "o-", group(0, peek(cost(v.Remaining, a))), group(1, peek(cost(v.Remaining+1, a))))
		if used == 0 {
			continue
		}
		h.take(v.NextAfter-1, "-", peek(cost(v.Remaining+1, a)))
		if v.NextAfter < v.ResetAfter { // else it is over then, and may be forgotten
			h.take(v.NextAfter, "o", peek(cost(v.Remaining+1, a)))
		}
		if before := h.follow(v.ResetAfter-1, peek(a))[0]; before.ResetAfter != 1 {
			h.Fatalf("%s: 1µs before its reset the cell says it is %dµs away", l.label, before.ResetAfter)
		}
		if after := h.take(v.ResetAfter, "o", peek(cost(all, a)))[0]; after.ResetAfter != 0 || after.NextAfter != 0 {
			h.Fatalf("%s: a cell that was reset says next %d, reset %d", l.label, after.NextAfter, after.ResetAfter)
		}
	}
}

func costAboveQuota(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	l := s.limit(st, 5, time.Minute)
	a, all := l.ask("k", 1), l.quota()
	for _, n := range []int64{all + 1, core.MaxLimit, core.MaxLimit + 1, core.MaxCount + 1, math.MaxInt64} {
		if v := h.take(0, "-", cost(n, a))[0]; v.RetryAfter != core.Forever {
			h.Fatalf("%s: a cost of %d is to be retried after %dµs", l.label, n, v.RetryAfter)
		}
	}
	h.take(0, "+", cost(all, a))
	h.take(0, "x", when(core.Always, cost(math.MaxInt64, a)))
	b := l.ask("other", 1)
	h.take(0, "x", when(core.Always, cost(math.MaxInt64, b)))
	h.take(0, "-", b)
}
