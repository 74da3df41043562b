package backendtest

import (
	"time"

	"github.com/stint-go/stint/core"
)

func refundsByReceipt(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	l := s.limit(st, 6, time.Minute)
	all := l.quota()

	// At once: as if nothing had been.
	a := l.ask("a", all)
	h.settle(0, -all, h.take(0, "+", a)...)
	h.take(0, "+", a)
	h.take(0, "-", cost(1, a))

	// In part, and later.
	b := l.ask("b", 2)
	first := h.take(0, "+", b)[0]
	second := h.take(l.window()/5, "+", cost(1, b))[0]
	h.settle(l.window()/4, -1, first)
	h.follow(l.window()/4, cost(all-2, b))
	h.settle(l.window()/3, -1, second)
	for i := range int64(8) {
		h.follow(l.window()/3+i*l.window()/3, b)
	}

	// When time has given it back already, what was charged since stays.
	c := l.ask("c", all)
	old := h.take(0, "+", c)[0]
	after := old.ResetAfter + 3*l.window()
	h.take(after, "+", c)
	h.settle(after, -all, old)
	h.take(after, "-", cost(1, c))

	// The cell is gone: nothing to give back, and nothing made of it.
	gone := h.take(0, "+", l.ask("gone", all))[0]
	h.settle(gone.ResetAfter, -all, gone)
	h.take(gone.ResetAfter, "+", gone.ask)
	h.take(gone.ResetAfter, "-", gone.ask)
	reset := h.take(0, "+", l.ask("reset", 1))[0]
	h.reset(reset.ask.Cell)
	h.settle(0, -1, reset)
	h.take(0, "+", cost(all, reset.ask))
	h.take(0, "-", reset.ask)

	// Nothing was charged: nothing is given back.
	d := l.ask("d", 1)
	h.take(0, "+", cost(all, d))
	h.settle(0, -1, h.take(0, "-", d)...)
	h.settle(0, -1, h.take(0, "x", when(core.Always, d))...)
	h.take(0, "-", d)
}

func debt(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	l := s.limit(st, 5, time.Minute)
	a, b := l.ask("a", 1), l.ask("b", 1)
	h.settle(0, 3*l.quota(), charge{ask: a})
	for i := range int64(20) {
		h.follow(i*l.window()/4, peek(cost(0, a)), b)
		h.follow(i*l.window()/4, a)
	}
	c := l.ask("c", 1)
	h.take(0, "+", c)
	h.settle(0, l.quota(), charge{ask: c})
	h.take(0, "-", cost(0, c))
	h.take(0, "-", c)

	d := l.ask("d", 1)
	h.settle(0, 1, charge{ask: d})
	h.take(0, "+", cost(l.quota()-1, d))
	h.take(0, "-", d)
	h.settle(0, core.MaxCount, charge{ask: d})
	h.settle(0, core.MaxCount, charge{ask: d})
	h.take(0, "-", d)
}

// settleInOrder: a refund before the debt finds no cell, one after it does.
func settleInOrder(s *suite) {
	l := s.limit(stranger, 5, time.Minute)
	for _, refundFirst := range []bool{true, false} {
		h := s.history()
		c := h.take(0, "+", l.ask("k", 2))[0]
		h.reset(c.ask.Cell)
		cs, deltas, left := []charge{{ask: c.ask}, c}, []int64{4, -2}, int64(3)
		if refundFirst {
			cs, deltas, left = []charge{c, {ask: c.ask}}, []int64{-2, 4}, 1
		}
		if err := h.correct(0, deltas, cs...); err != nil {
			h.fail(err)
		}
		h.take(0, "o", peek(cost(left, c.ask)))
		h.take(0, "-", peek(cost(left+1, c.ask)))
		h.reset(c.ask.Cell)
	}
}
