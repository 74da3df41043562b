package backendtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/stint-go/stint/core"
)

// randomTimelines lets the backend and the model live through the same random
// histories. The first that differ are shortened and printed.
func randomTimelines(s *suite) {
	seed, err := strconv.ParseUint(os.Getenv("STINT_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64() >> 16
	}
	n := s.loops(400)
	if os.Getenv("STINT_LONG") != "" {
		n *= 50
	}
	for i := range uint64(n) {
		t := randomTimeline(seed+i, s.NoGrowing)
		err := t.run(s)
		if err == nil {
			continue
		}
		t = t.shorten(s)
		h := s.history()
		h.start = t.start
		if shorter := t.live(h); shorter != nil {
			err = shorter
		}
		s.Fatalf("%v\nSTINT_SEED=%d, shortened; instants in microseconds after %d:\n%s",
			err, seed+i, t.start, strings.Join(h.lines, "\n"))
	}
}

// A timeline is a random history as data. Cells, rules and receipts are numbers
// that mean something at any place, so that each part of it is a timeline again.
type timeline struct {
	start  int64
	limits []timelineLimit
	events []event
}

// A timelineLimit is one space; its rules differ in the limit only.
type timelineLimit struct {
	strategy strategy
	units    [2]int64
	window   time.Duration
	phase    int64
}

type event struct {
	kind   eventKind
	jump   jump
	amount int64 // of the jump, or of a correction
	asks   []timelineAsk
}

type eventKind int

const (
	eventTake eventKind = iota
	eventSettle
	eventDebt
	eventReset
)

// A jump is how the clock moves before an event.
type jump int

const (
	stay    jump = iota
	forward      // by amount
	back         // by amount
	toRetry      // to when the last Take promised something,
	toNext
	toReset
	toRetryLess // or one microsecond before
	toNextLess
	toResetLess
	jumps
)

type timelineAsk struct {
	limit, rule, key int
	cost             int64
	when             core.When
	soft             bool
	group            int32
}

func randomTimeline(seed uint64, noGrowing bool) timeline {
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(from ...int64) int64 { return from[r.IntN(len(from))] }
	t := timeline{start: pick(epoch, epoch, epoch, epoch+r.Int64N(1e15), 1, 4_102_444_800*1e6)}
	longest := int64(0)
	for range 1 + r.IntN(4) {
		l := timelineLimit{
			strategy: strategies[r.IntN(len(strategies))],
			window:   time.Duration(pick(1e3, 10e3, 1e6, 7e6, 60e6, 3600e6, 86400e6)) * time.Microsecond,
			phase:    r.Int64(),
		}
		for i := range l.units {
			l.units[i] = pick(1, 2, 3, 5, 7, 10, 60, 100)
			if r.IntN(20) == 0 {
				l.units[i] = 0
			}
		}
		if rule, err := l.strategy.Bind(core.Rate{Limit: 1, Window: l.window}); err == nil && rule.Words() == 0 && noGrowing {
			l.strategy = stranger
		}
		longest = max(longest, l.window.Microseconds())
		t.limits = append(t.limits, l)
	}
	for range 40 {
		t.events = append(t.events, t.randomEvent(r, longest))
	}
	return t
}

func (t *timeline) randomEvent(r *rand.Rand, window int64) event {
	e := event{jump: stay}
	switch r.IntN(10) {
	case 0, 1, 2:
	case 3, 4, 5:
		scale := []int64{2, 20, window / 100, window / 3, window, 3 * window}[r.IntN(6)]
		e.jump, e.amount = forward, r.Int64N(scale+1)
	case 6:
		e.jump, e.amount = back, r.Int64N(2*window)
	default:
		e.jump = toRetry + jump(r.IntN(int(jumps-toRetry)))
	}
	switch r.IntN(12) {
	case 0, 1:
		e.kind = eventSettle
	case 2:
		e.kind = eventDebt
	case 3:
		if r.IntN(3) == 0 {
			e.kind = eventReset
		}
	}
	if e.kind != eventTake && e.jump == stay {
		e.amount = 1 + r.Int64N(20)
	}
	asks := 1
	if e.kind == eventTake && r.IntN(2) == 0 {
		asks = 1 + r.IntN(6)
	}
	for range asks {
		a := timelineAsk{limit: r.IntN(len(t.limits)), key: r.IntN(2), rule: r.IntN(8) / 7, group: int32(r.IntN(3))}
		units := t.limits[a.limit].units[a.rule]
		a.cost = []int64{1, 1, 1, 0, 2, units / 2, units, units + 1, 10 * units}[r.IntN(9)]
		if r.IntN(3) == 0 {
			a.when = core.When(r.IntN(4))
		}
		a.soft = r.IntN(5) == 0
		e.asks = append(e.asks, a)
	}
	return e
}

// run lives through the timeline in cells of its own.
func (t timeline) run(s *suite) error {
	h := s.history()
	h.start = t.start
	return errors.Join(t.live(h), s.empty())
}

func (t timeline) live(h *history) error {
	b, err := t.bind(h)
	if err != nil {
		return err
	}
	var (
		now, high, floor int64 // after the start
		last             charge
		open             []charge // not settled yet
	)
	for _, e := range t.events {
		if h.Provisional { // what was taken back may have moved a cell's clock
			floor = high
		}
		now = max(floor, e.move(now, last.Verdict))
		high = max(high, now)
		floor = max(floor, b.over(high))
		asks := b.asks(e)
		if len(asks) == 0 {
			continue
		}
		var err error
		switch e.kind {
		case eventTake:
			var cs []charge
			if cs, err = h.step(now, asks...); err != nil {
				return err
			}
			last = cs[len(cs)-1]
			for _, c := range cs {
				if c.Charged && c.ask.Cost > 0 {
					open = append(open, c)
				}
			}
		case eventSettle:
			if len(open) == 0 {
				continue
			}
			i := int(e.asks[0].cost) % len(open)
			c := open[i]
			open = append(open[:i], open[i+1:]...)
			err = h.correct(now, []int64{-1 - e.amount%c.ask.Cost}, c)
		case eventDebt:
			err = h.correct(now, []int64{1 + e.amount%100}, charge{ask: asks[0]})
		case eventReset:
			err = h.empty(asks[0].Cell)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e event) move(now int64, v core.Verdict) int64 {
	to := func(wait, less int64) int64 {
		if wait == core.Forever {
			return now
		}
		return now + max(0, wait-less)
	}
	switch e.jump {
	case forward:
		return now + e.amount
	case back:
		return max(0, now-e.amount)
	case toRetry:
		return to(v.RetryAfter, 0)
	case toNext:
		return to(v.NextAfter, 0)
	case toReset:
		return to(v.ResetAfter, 0)
	case toRetryLess:
		return to(v.RetryAfter, 1)
	case toNextLess:
		return to(v.NextAfter, 1)
	case toResetLess:
		return to(v.ResetAfter, 1)
	}
	return now
}

// bound is a timeline's limits with rules, in cells of its own.
type bound struct {
	h      *history
	spaces []limit
	rules  [][2]core.Rule
	used   map[string]core.Rule // by the model's name of the cell
}

func (t timeline) bind(h *history) (*bound, error) {
	b := &bound{h: h, used: map[string]core.Rule{}}
	for _, tl := range t.limits {
		l := h.limitAt(tl.strategy, tl.units[0], tl.window, func(c core.Cell) int64 { return tl.phase + keyPhase(c)%1000 })
		other, err := tl.strategy.Bind(core.Rate{Limit: tl.units[1], Window: tl.window})
		if err != nil {
			return nil, err
		}
		if other.Shape() != l.rule.Shape() {
			return nil, errors.New("a shape depends on the limit: " + tl.strategy.name)
		}
		b.spaces = append(b.spaces, l)
		b.rules = append(b.rules, [2]core.Rule{l.rule, other})
	}
	return b, nil
}

// asks are the event's, without those on a cell that their decision has already.
func (b *bound) asks(e event) []core.Ask {
	var asks []core.Ask
	decision := map[string]bool{}
	for _, ta := range e.asks {
		a := b.spaces[ta.limit].ask(fmt.Sprint("k", ta.key), ta.cost)
		a.Rule, a.When, a.Soft, a.Group = b.rules[ta.limit][ta.rule], ta.when, ta.soft, ta.group
		if b.h.Provisional { // what is taken back under another limit may be rounded
			a.Rule = b.rules[ta.limit][0]
		}
		if len(asks) > 0 && asks[len(asks)-1].Group != a.Group {
			clear(decision)
		}
		id := name(a.Cell)
		if decision[id] {
			continue
		}
		decision[id] = true
		b.used[id] = a.Rule
		asks = append(asks, a)
	}
	return asks
}

// over is the last end of a cell that had ended by then. The clock never goes
// back behind it: a backend may have forgotten the cell, so what it held before
// is nobody's promise.
func (b *bound) over(then int64) int64 {
	last := int64(0)
	for id, rule := range b.used {
		if s, ok := b.h.model.cells[id]; ok {
			if until := rule.Until(s) - b.h.start; until <= then {
				last = max(last, until)
			}
		}
	}
	return last
}

// shorten takes away events and asks as long as the rest still fails.
func (t timeline) shorten(s *suite) timeline {
	fails := func(t timeline) bool { return t.run(s) != nil }
	for again := true; again; {
		again = false
		for size := max(1, len(t.events)/2); size > 0; size /= 2 {
			for i := 0; i+size <= len(t.events); {
				less := t
				less.events = append(append([]event(nil), t.events[:i]...), t.events[i+size:]...)
				if fails(less) {
					t, again = less, true
				} else {
					i += size
				}
			}
		}
		for i := range t.events {
			for j := 0; j < len(t.events[i].asks) && len(t.events[i].asks) > 1; {
				less := t
				less.events = append([]event(nil), t.events...)
				asks := t.events[i].asks
				less.events[i].asks = append(append([]timelineAsk(nil), asks[:j]...), asks[j+1:]...)
				if fails(less) {
					t, again = less, true
				} else {
					j++
				}
			}
		}
	}
	return t
}
