package backendtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

// epoch is where explicit timelines start: long ago for any clock on the wall.
const epoch int64 = 1_700_000_000 * 1e6

// A suite is one check at work on one backend.
type suite struct {
	testing.TB
	Options
	backend core.Backend

	mu    sync.Mutex
	cells []core.Cell // given out, to be emptied at the end
}

func newSuite(tb testing.TB, b core.Backend, o Options) *suite {
	s := &suite{TB: tb, Options: o, backend: b}
	tb.Cleanup(func() {
		if err := s.empty(); err != nil {
			tb.Errorf("Reset of the cells of this check: %v", err)
		}
	})
	return s
}

// empty resets the cells given out so far.
func (s *suite) empty() error {
	for len(s.cells) > 0 {
		n := min(100, len(s.cells))
		if err := s.backend.Reset(context.Background(), s.cells[:n]...); err != nil {
			return err
		}
		s.cells = s.cells[n:]
	}
	return nil
}

// loops is n, or less where the backend is slow.
func (s *suite) loops(n int) int {
	if s.Slow {
		return max(1, n/8)
	}
	return n
}

// Names of policies: never used before, on whatever server.
var (
	process = rand.Text()[:10]
	counter atomic.Int64
)

func freshName() string {
	return fmt.Sprintf("contract-%s-%d", process, counter.Add(1))
}

// A limit is a rule and a space that no other check has.
type limit struct {
	s     *suite
	label string // for histories
	rule  core.Rule
	space *core.Space
}

// limit binds a strategy to a rate under a fresh policy. Its phases are a
// function of the key, the same for every backend.
func (s *suite) limit(st strategy, n int64, window time.Duration) limit {
	s.Helper()
	return s.limitAt(st, n, window, keyPhase)
}

func (s *suite) limitAt(st strategy, n int64, window time.Duration, phase func(core.Cell) int64) limit {
	s.Helper()
	rule := s.bind(st, n, window)
	space := core.NewSpace(freshName(), window.Microseconds(), rule.Shape(), nil, phase)
	return limit{s, fmt.Sprintf("%s %d/%v", st.name, n, window), rule, space}
}

func (s *suite) bind(st strategy, n int64, window time.Duration) core.Rule {
	s.Helper()
	rule, err := st.Bind(core.Rate{Limit: n, Window: window})
	if err != nil {
		s.Fatalf("%s: Bind(%d per %v): %v", st.name, n, window, err)
	}
	return rule
}

// skipGrowing ends a check whose rules a backend refuses; that it does so is a
// check of its own.
func (s *suite) skipGrowing(st strategy) {
	s.Helper()
	if s.NoGrowing && s.bind(st, 1, time.Minute).Words() == 0 {
		s.Skip("declared by the backend: NoGrowing")
	}
}

func keyPhase(c core.Cell) int64 {
	h := fnv.New64a()
	h.Write(c.Key.Append(nil))
	return int64(h.Sum64() >> 1)
}

// quota is the most units that the limit admits at once.
func (l limit) quota() int64 {
	units, _ := l.rule.Quota()
	return units
}

func (l limit) window() int64 { return l.space.Window() }

func (l limit) cell(key string) core.Cell {
	c := core.Cell{Space: l.space, Key: core.NewKey("key", key)}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.s.cells = append(l.s.cells, c)
	return c
}

// ask asks for a cost in the limit's cell of that key.
func (l limit) ask(key string, cost int64) core.Ask {
	return core.Ask{Cell: l.cell(key), Rule: l.rule, Cost: cost}
}

// Variations of an ask.
func soft(a core.Ask) core.Ask                   { a.Soft = true; return a }
func when(w core.When, a core.Ask) core.Ask      { a.When = w; return a }
func group(g int32, a core.Ask) core.Ask         { a.Group = g; return a }
func peek(a core.Ask) core.Ask                   { return when(core.Never, a) }
func cost(n int64, a core.Ask) core.Ask          { a.Cost = n; return a }
func under(rule core.Rule, a core.Ask) core.Ask  { a.Rule = rule; return a }
func keyed(k core.Key, a core.Ask) core.Ask      { a.Cell.Key = k; return a }
func within(sp *core.Space, a core.Ask) core.Ask { a.Cell.Space = sp; return a }

// junk fills verdicts before a call: a backend has to write every field.
var junk = core.Verdict{Judgement: core.Judgement{OK: true, Remaining: -7, RetryAfter: -7, NextAfter: -7, ResetAfter: -7}, Charged: true,
	Receipt: core.Receipt{A: -7, B: -7, C: -7}, Err: errInput}

// try is one Take. It asks from memory that is overwritten afterwards.
func (s *suite) try(at int64, asks ...core.Ask) ([]core.Verdict, int64, error) {
	mine := append([]core.Ask(nil), asks...)
	out := make([]core.Verdict, len(asks))
	for i := range out {
		out[i] = junk
	}
	now, err := s.backend.Take(context.Background(), at, mine, out)
	clear(mine)
	return out, now, err
}

// take is a Take that works.
func (s *suite) take(at int64, asks ...core.Ask) []core.Verdict {
	s.Helper()
	out, now, err := s.try(at, asks...)
	if err != nil {
		s.Fatalf("Take: %v", err)
	}
	if at != 0 && now != at {
		s.Fatalf("Take at %d returned the instant %d", at, now)
	}
	for i, v := range out {
		if v.Err != nil {
			s.Fatalf("Take: ask %d: %v", i, v.Err)
		}
	}
	return out
}
