package backendtest

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stint-go/stint/core"
)

const goroutines = 64

// together runs f in many goroutines that start as one. f must not call Fatal.
func together(f func(g int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for g := range goroutines {
		wg.Go(func() {
			<-start
			f(g)
		})
	}
	close(start)
	wg.Wait()
}

// admitted makes one Take and tells whether every ask was admitted.
func (s *suite) admitted(at int64, asks ...core.Ask) bool {
	out, _, err := s.try(at, asks...)
	if err != nil {
		s.Errorf("Take: %v", err)
		return false
	}
	for _, v := range out {
		if v.Err != nil || !v.OK {
			return false
		}
	}
	return true
}

// exhaust asks from everywhere for one unit until there can be none left, and
// counts what is admitted.
func (s *suite) exhaust(at, limit int64, asks ...core.Ask) int64 {
	var units atomic.Int64
	tries := 2 + 2*limit/goroutines
	together(func(g int) {
		for range tries {
			mine := append([]core.Ask(nil), asks...)
			rand.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			if s.admitted(at, mine...) {
				units.Add(1)
			}
		}
	})
	return units.Load()
}

func contentionOneCell(s *suite, st strategy) {
	s.skipGrowing(st)
	for round := range s.loops(8) {
		l := s.limit(st, 200, time.Minute)
		if got := s.exhaust(epoch, l.quota(), l.ask("k", 1)); got != l.quota() {
			s.Fatalf("round %d: %d goroutines were given %d units by a limit of %d", round, goroutines, got, l.quota())
		}
	}
}

func contentionOwnClock(s *suite, st strategy) {
	s.skipGrowing(st)
	l := s.limitAt(st, 20, quietWindow(time.Now()), func(core.Cell) int64 { return 0 })
	if got := s.exhaust(0, l.quota(), l.ask("k", 1)); got != l.quota() {
		s.Fatalf("%d goroutines were given %d units by a limit of %d", goroutines, got, l.quota())
	}
}

// quietWindow is a window of about an hour, of those aligned to the epoch, that
// neither began nor ends within minutes: nothing changes while a check runs.
func quietWindow(now time.Time) time.Duration {
	w := time.Hour
	for {
		if gone := time.Duration(now.UnixMicro()%w.Microseconds()) * time.Microsecond; gone > w/4 && gone < 3*w/4 {
			return w
		}
		w += time.Minute
	}
}

func contentionManyCells(s *suite, st strategy) {
	s.skipGrowing(st)
	for round := range s.loops(8) {
		a, b, c := s.limit(st, 40, time.Minute), s.limit(st, 25, time.Hour), s.limit(st, 60, time.Second)
		asks := []core.Ask{a.ask("k", 1), b.ask("k", 1), c.ask("k", 1)}
		least := min(a.quota(), b.quota(), c.quota())
		got := s.exhaust(epoch, least, asks...)
		if got > least || got < least && !s.Provisional {
			s.Fatalf("round %d: %d decisions were admitted, the smallest limit is %d", round, got, least)
		}
		for i, l := range []limit{a, b, c} {
			s.holds(l, asks[i], got)
		}
	}
}

// holds compares what a cell holds at rest with what was charged to it.
func (s *suite) holds(l limit, a core.Ask, charged int64) {
	s.Helper()
	left, want := s.take(epoch, peek(a))[0].Remaining, l.quota()-charged
	if left > want || left < want && !(s.Provisional && l.losesRefunds()) {
		s.Errorf("%s: a cell that was charged %d has %d left", l.label, charged, left)
	}
}

// losesRefunds tells whether less comes back when charges of one instant are
// refunded out of order.
func (l limit) losesRefunds() bool {
	const at = epoch
	var state core.State
	if words := l.rule.Words(); words > 0 {
		state = make(core.State, words)
	}
	receipts := make([]core.Receipt, 3)
	for i := range receipts {
		state, receipts[i] = l.rule.Charge(state, at, 0, 1)
	}
	for _, i := range []int{1, 0} {
		state = l.rule.Settle(state, at, 0, receipts[i], -1)
	}
	return l.rule.Decide(state, at, 0, 0).Remaining < l.quota()-1
}

// contentionMixed lets decisions of every make meet: subsets of the cells in any
// order, costs, soft asks, several decisions in one Take.
func contentionMixed(s *suite, st strategy) {
	s.skipGrowing(st)
	limits := []limit{s.limit(st, 400, time.Minute), s.limit(st, 150, time.Hour), s.limit(st, 250, time.Second), s.limit(st, 300, time.Minute)}
	asks := make([]core.Ask, len(limits))
	charged := make([]atomic.Int64, len(limits))
	for i, l := range limits {
		asks[i] = l.ask("k", 0)
	}
	together(func(g int) {
		for range s.loops(24) {
			cells := rand.Perm(len(asks))[:1+rand.IntN(len(asks))]
			mine := make([]core.Ask, len(cells))
			for i, c := range cells {
				mine[i] = cost(1+rand.Int64N(3), asks[c])
				mine[i].Soft = rand.IntN(4) == 0
				mine[i].Group = int32(i / 2)
			}
			out, _, err := s.try(epoch, mine...)
			if err != nil {
				s.Errorf("Take: %v", err)
				return
			}
			s.allOrNone(mine, out)
			for i, v := range out {
				if v.Charged {
					charged[cells[i]].Add(mine[i].Cost)
				}
			}
		}
	})
	for i, l := range limits {
		s.holds(l, asks[i], charged[i].Load())
	}
}

// allOrNone looks at the hard asks of each decision.
func (s *suite) allOrNone(asks []core.Ask, out []core.Verdict) {
	ok, charged := map[int32]bool{}, map[int32]bool{}
	for i, a := range asks {
		if _, seen := ok[a.Group]; !seen && !a.Soft {
			ok[a.Group], charged[a.Group] = true, out[i].Charged
		}
		switch {
		case a.Soft && out[i].Charged != out[i].OK:
			s.Errorf("a soft ask is OK %v and charged %v", out[i].OK, out[i].Charged)
		case !a.Soft && charged[a.Group] != out[i].Charged:
			s.Errorf("of one decision some hard asks were charged and some were not")
		case !a.Soft:
			ok[a.Group] = ok[a.Group] && out[i].OK
		}
	}
	for g := range ok {
		if ok[g] != charged[g] {
			s.Errorf("all hard asks of a decision OK: %v; charged: %v", ok[g], charged[g])
		}
	}
}

func contentionRefunds(s *suite, st strategy) {
	s.skipGrowing(st)
	l := s.limit(st, 8, time.Minute)
	a := l.ask("k", 1)
	var held atomic.Int64
	together(func(g int) {
		for range s.loops(24) {
			out, _, err := s.try(epoch, a)
			if err != nil {
				s.Errorf("Take: %v", err)
				return
			}
			if !out[0].OK {
				continue
			}
			if n := held.Add(1); n > l.quota() {
				s.Errorf("%d units are held, the limit is %d", n, l.quota())
			}
			runtime.Gosched() // let the others want it, too
			held.Add(-1)      // before the refund: what is held is never overstated
			if err := s.backend.Settle(context.Background(), epoch, []core.Ask{a}, []core.Receipt{out[0].Receipt}, []int64{-1}); err != nil {
				s.Errorf("Settle: %v", err)
			}
		}
	})
}
