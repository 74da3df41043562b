package redislimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

// The Go rules are the specification of the Lua programs. Here both walk through
// random timelines, and verdicts and states are compared word for word after
// every step. STINT_STEPS sets the number of steps of the whole test, STINT_SEED
// the seed.
func TestProgramsEqualTheRules(t *testing.T) {
	steps := count("STINT_STEPS", 12_000, 240_000)
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("STINT_SEED"), 10, 64); err == nil {
		seed = s
	}
	inlined, general := on(t, shared.single()), on(t, shared.single())
	inlined.plans.most, general.plans.most = 1<<20, 0
	cases := timelineCases(t)
	for i, c := range cases {
		t.Run(fmt.Sprintf("%s %d per %v", c.name, c.rate.Limit, c.rate.Window), func(t *testing.T) {
			for k, b := range []*Backend{inlined, general} {
				newTimeline(t, b, c, rand.New(rand.NewPCG(seed, uint64(2*i+k)))).run(steps / len(cases) / 2)
			}
			if t.Failed() {
				t.Logf("again with STINT_SEED=%d", seed)
			}
		})
	}
}

type timelineCase struct {
	name  string
	rule  core.Rule
	other core.Rule // of another limit, used now and then
	rate  core.Rate
	spans []int64 // that the timeline moves by; the rate's window unless set
}

func timelineCases(t *testing.T) (cases []timelineCase) {
	rates := []core.Rate{
		{Limit: 1, Window: time.Millisecond},
		{Limit: 3, Window: 999 * time.Millisecond},
		{Limit: 7, Window: 10 * time.Second},
		{Limit: 10, Window: 1001 * time.Microsecond},
		{Limit: 100, Window: time.Minute},
		{Limit: 999_983, Window: 24 * time.Hour},
		{Limit: core.MaxLimit, Window: time.Duration(core.MaxWindow) * time.Microsecond},
		{Limit: 0, Window: time.Minute},
	}
	for _, s := range []core.Strategy{
		core.FixedWindow{}, core.FixedWindow{Align: core.Clock}, core.FixedWindow{Align: core.FirstHit},
		core.SlidingWindow{}, core.SlidingWindow{Align: core.Clock},
		core.BucketedWindow{}, core.BucketedWindow{Inclusive: true, Align: core.Clock},
		core.MovingWindow{Max: 1_000_000}, core.GCRA{}, core.GCRA{Burst: 3}, core.GCRA{Burst: 1},
	} {
		for _, rate := range rates {
			rule, err := s.Bind(rate)
			if err != nil {
				if rate.Limit == core.MaxLimit {
					continue // the widest rate is not for all strategies
				}
				t.Fatal(err)
			}
			changed := rate
			changed.Limit = max(1, rate.Limit/2)
			other, err := s.Bind(changed)
			if err != nil {
				t.Fatal(err)
			}
			cases = append(cases, timelineCase{rule.Shape() + " " + fmt.Sprint(s), rule, other, rate, nil})
		}
	}
	return cases
}

// A timeline walks a rule and a backend through the same steps.
type timeline struct {
	*testing.T
	b     *Backend
	c     timelineCase
	rng   *rand.Rand
	cell  core.Cell
	phase int64
	now   int64
	state core.State
	last  core.Verdict
	paid  []payment
	did   []string
}

// A payment can be refunded.
type payment struct {
	rule    core.Rule
	receipt core.Receipt
	cost    int64
}

func newTimeline(t *testing.T, b *Backend, c timelineCase, rng *rand.Rand) *timeline {
	l := &timeline{T: t, b: b, c: c, rng: rng}
	space := core.NewSpace("timeline", c.rate.Window.Microseconds(), c.rule.Shape(), nil, nil)
	l.cell = core.Cell{Space: space, Key: core.NewKey("k", strconv.FormatUint(rng.Uint64(), 36))}
	_, digest := cellName(&l.cell, true)
	l.phase = l.cell.Phase(digest.Hash())
	l.now = 1_700_000_000_000_000 + rng.Int64N(1e15)
	if rng.IntN(8) == 0 {
		l.now = 1 + rng.Int64N(3*c.rate.Window.Microseconds())
	}
	l.empty()
	t.Cleanup(func() { _ = b.Reset(context.Background(), l.cell) })
	return l
}

func (l *timeline) empty() {
	l.state = nil
	if n := l.c.rule.Words(); n > 0 {
		l.state = make(core.State, n)
	}
}

func (l *timeline) run(steps int) {
	for range steps {
		l.move()
		rule := l.c.rule
		if l.rng.IntN(25) == 0 {
			rule = l.c.other
		}
		if l.rng.IntN(4) == 0 {
			l.settle(rule)
		} else {
			l.take(rule)
		}
		l.compare(rule)
		if l.Failed() {
			for _, line := range l.did[max(0, len(l.did)-40):] {
				l.Log(line)
			}
			return
		}
	}
}

// move chooses the next instant: again the same, on a boundary or beside it, a
// little or much later, now and then back.
func (l *timeline) move() {
	w := l.c.rate.Window.Microseconds()
	if n := len(l.c.spans); n > 0 {
		w = l.c.spans[l.rng.IntN(n)]
	}
	before := l.now
	switch l.rng.IntN(12) {
	case 0, 1, 2, 3: // a burst
	case 4, 5, 6:
		waits := []int64{l.last.NextAfter, l.last.ResetAfter, l.last.RetryAfter}
		if d := waits[l.rng.IntN(3)]; d < 1<<50 {
			l.now += d + l.rng.Int64N(3) - 1
		}
	case 7:
		edge := w - (l.now-l.phase)%w
		if l.rng.IntN(2) == 0 {
			edge = w - l.now%w
		}
		l.now += edge + l.rng.Int64N(3) - 1
	case 8, 9:
		l.now += l.rng.Int64N(w/4 + 2)
	case 10:
		l.now += l.rng.Int64N(4*w + 2)
	case 11:
		l.now -= l.rng.Int64N(2*w + 2)
	}
	if l.now < 1 || l.now > 1<<52 {
		l.now = before
	}
}

// cost is none, one, some, all, or too many.
func (l *timeline) cost() int64 {
	units, _ := l.c.rule.Quota()
	switch l.rng.IntN(10) {
	case 0:
		return 0
	case 1:
		return units + l.rng.Int64N(3) - min(1, units)
	case 2:
		return 1 + l.rng.Int64N(units+1)
	case 3:
		return l.last.Remaining + l.rng.Int64N(2)
	case 4:
		return units/2 + 1
	}
	return 1
}

func (l *timeline) take(rule core.Rule) {
	ask := core.Ask{Cell: l.cell, Rule: rule, Cost: l.cost(), When: core.When(l.rng.IntN(12))}
	if ask.When > core.Never {
		ask.When = core.OnAdmit
	}
	ask.Soft = l.rng.IntN(4) == 0
	want, now := l.model(ask)
	out := make([]core.Verdict, 1)
	at, err := l.b.Take(context.Background(), l.now, []core.Ask{ask}, out)
	l.note("take %d at %d when %d soft %v limit %v: %+v", ask.Cost, l.now, ask.When, ask.Soft, rule == l.c.rule, want)
	if err != nil || at != now || out[0] != want {
		l.Errorf("take: instant %d, error %v\n got %+v\nwant %+v", at, err, out[0], want)
	}
	if want.Receipt != (core.Receipt{}) {
		l.paid = append(l.paid, payment{rule, want.Receipt, ask.Cost})
	}
	l.last = want
}

// model is what core.Backend says of one ask, in the shortest form.
func (l *timeline) model(ask core.Ask) (v core.Verdict, now int64) {
	now = l.now
	v.Judgement = ask.Rule.Decide(l.state, now, l.phase, ask.Cost)
	ok := v.OK
	charged := ask.When == core.Always || ask.When == core.OnAdmit && ok || ask.When == core.OnRefuse && !ok
	if !charged {
		if ok {
			v.Judgement = ask.Rule.Decide(l.state, now, l.phase, 0)
			v.OK, v.RetryAfter = true, 0
		}
		return v, now
	}
	var rc core.Receipt
	l.state, rc = ask.Rule.Charge(l.state, now, l.phase, ask.Cost)
	if !ok {
		v.Judgement = ask.Rule.Decide(l.state, now, l.phase, ask.Cost)
		rc = core.Receipt{}
	}
	v.Charged, v.Receipt = true, rc
	return v, now
}

func (l *timeline) settle(rule core.Rule) {
	var rc core.Receipt
	delta := int64(0)
	switch {
	case l.rng.IntN(5) == 0:
		delta = 1 + l.rng.Int64N(max(1, l.c.rate.Limit/2))
		if l.rng.IntN(4) == 0 {
			delta = core.MaxCount >> l.rng.IntN(20)
		}
	case len(l.paid) > 0:
		i := len(l.paid) - 1 - min(l.rng.IntN(len(l.paid)), l.rng.IntN(4))
		p := l.paid[i]
		l.paid = slices.Delete(l.paid, i, i+1)
		if rule, rc, delta = p.rule, p.receipt, -p.cost; l.rng.IntN(8) == 0 {
			rule = []core.Rule{l.c.rule, l.c.other}[l.rng.IntN(2)]
		}
		if l.rng.IntN(3) == 0 {
			delta = -1 - l.rng.Int64N(p.cost)
		}
		if rule.Shape() == "gcra" && l.rng.IntN(4) == 0 {
			rc.A = -rc.A // if it is the latest: core.Waiter
		}
	default:
		delta = -1
	}
	l.note("settle %d of %v at %d", delta, rc, l.now)
	if delta > 0 || !l.isEmpty() {
		l.state = rule.Settle(l.state, l.now, l.phase, rc, delta)
	}
	ask := core.Ask{Cell: l.cell, Rule: rule}
	if err := l.b.Settle(context.Background(), l.now, []core.Ask{ask}, []core.Receipt{rc}, []int64{delta}); err != nil {
		l.Errorf("settle: %v", err)
	}
	l.last = core.Verdict{}
}

func (l *timeline) isEmpty() bool {
	return !slices.ContainsFunc(l.state, func(w int64) bool { return w != 0 })
}

// compare reads the cell and holds it against the rule's state.
func (l *timeline) compare(rule core.Rule) {
	ts, err := l.b.targets([]core.Ask{{Cell: l.cell, Rule: rule}}, true)
	if err != nil {
		l.Fatal(err)
	}
	snaps, err := l.b.read(context.Background(), l.now, ts)
	if err != nil || snaps[0].err != nil {
		l.Errorf("read: %v %v", err, snaps)
		return
	}
	got, want := snaps[0].state, l.state
	if rule.Words() == 0 {
		got, want = core.LogPairs(got), core.LogPairs(want)
	}
	if !slices.Equal(got, want) {
		l.Errorf("state\n got %v\nwant %v", got, want)
	}
}

func (l *timeline) note(format string, args ...any) {
	l.did = append(l.did, fmt.Sprintf(format, args...))
}
