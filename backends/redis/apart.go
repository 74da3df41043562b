package redislimit

import (
	"context"
	"errors"
	"sync"

	"github.com/stint-go/stint/core"
)

// A part is the asks of a call that live in one place.
type part struct {
	ts     []target
	places []int // of the asks in the call
}

// An answer is what run answered for a part.
type answer struct {
	now   int64
	cells []seen
	err   error
}

func oneSlot(ts []target) bool {
	for i := range ts {
		if ts[i].slot != ts[0].slot {
			return false
		}
	}
	return true
}

// bySlot sorts asks by the place that they live in and keeps their order there.
func bySlot(ts []target) []part {
	var parts []part
	index := map[uint64]int{}
	for i := range ts {
		k, ok := index[ts[i].slot]
		if !ok {
			k = len(parts)
			index[ts[i].slot] = k
			parts = append(parts, part{})
		}
		parts[k].ts = append(parts[k].ts, ts[i])
		parts[k].places = append(parts[k].places, i)
	}
	return parts
}

// runAll runs all parts at once: one round trip, but for compare-and-swap.
func (b *Backend) runAll(ctx context.Context, at int64, parts []part) []answer {
	answers := make([]answer, len(parts))
	for i := range parts {
		if !programmed(parts[i].ts) {
			inParallel(len(parts), func(i int) {
				a := &answers[i]
				a.now, a.cells, a.err = b.run(ctx, at, parts[i].ts)
			})
			return answers
		}
	}
	calls := make([]call, len(parts))
	for i := range parts {
		calls[i] = b.decisionCall(at, parts[i].ts)
	}
	b.evalAll(ctx, calls)
	for i := range calls {
		a := &answers[i]
		a.now, a.cells, a.err = b.decided(&calls[i], parts[i].ts)
	}
	return answers
}

// inParallel calls f(0) ... f(n-1) at once, the first one on the caller's goroutine.
func inParallel(n int, f func(i int)) {
	if n == 0 {
		return
	}
	var wg sync.WaitGroup
	for i := 1; i < n; i++ {
		wg.Go(func() { f(i) })
	}
	f(0)
	wg.Wait()
}

// decideApart makes one decision whose asks live in several places, or that has
// to be made by compare-and-swap. Over several places it takes two steps. First
// every place decides and charges its own asks as if they were all. Then, where
// that turns out to be a refusal, what was charged is given back by receipt, and
// what refusals charge is charged. A place that can not be reached has no say:
// whoever asked decides what becomes of its asks, and of the charges elsewhere.
// Between the two another request can meet a
// charge that will be given back, and be refused although it would have fitted;
// more than a limit is never admitted. Where the second step fails, the charge
// stays until its window passes, at the longest until its key expires.
func (t *taking) decideApart(ctx context.Context, ts []target, out []core.Verdict) {
	parts := bySlot(ts)
	if len(parts) == 1 {
		now, cells, err := t.b.run(ctx, t.at, ts)
		if err != nil {
			t.failed(err, out)
			return
		}
		t.saw(now)
		conclude(now, ts, cells, out)
		return
	}
	for i := range parts {
		p := parts[i].ts
		for k := range p {
			p[k].last = k == len(p)-1
			if !p[k].soft {
				switch p[k].when {
				case core.OnRefuse:
					p[k].when = core.Never
				case core.Always:
					p[k].when = core.OnAdmit
				}
			}
		}
	}
	answers := t.b.runAll(ctx, t.at, parts)
	admitted, broken := true, false
	provisional := make([]core.Verdict, len(ts))
	cells, nows := make([]seen, len(ts)), make([]int64, len(ts))
	for i, p := range parts {
		a := answers[i]
		if a.err != nil {
			t.failed(a.err, nil)
			a.cells = make([]seen, len(p.ts))
			for k := range a.cells {
				a.cells[k].err = a.err
			}
		} else {
			t.saw(a.now)
		}
		verdicts := make([]core.Verdict, len(p.ts))
		conclude(a.now, p.ts, a.cells, verdicts)
		for k, place := range p.places {
			provisional[place], cells[place], nows[place] = verdicts[k], a.cells[k], a.now
			if unreached := errors.Is(a.err, core.ErrUnavailable); !p.ts[k].soft && !unreached {
				admitted = admitted && verdicts[k].OK
				broken = broken || a.cells[k].err != nil
			}
		}
	}
	copy(out, provisional)
	if !admitted {
		t.refuse(ctx, ts, nows, cells, out, broken)
	}
}

// refuse is the second step of a decision that turned out to be refused.
func (t *taking) refuse(ctx context.Context, ts []target, nows []int64, cells []seen, out []core.Verdict, broken bool) {
	var back, strikes []int
	for i := range ts {
		if ts[i].soft || cells[i].err != nil {
			continue
		}
		counts := !broken && (ts[i].when == core.Always || ts[i].when == core.OnRefuse)
		switch {
		case out[i].Charged && !counts:
			back = append(back, i)
		case !out[i].Charged && counts:
			strikes = append(strikes, i)
		case out[i].Charged: // it keeps the charge, but was not admitted
			out[i].Receipt = core.Receipt{}
		}
	}
	inParallel(2, func(which int) {
		if which == 0 {
			t.giveBack(ctx, ts, nows, cells, out, back)
		} else {
			t.strike(ctx, ts, out, strikes)
		}
	})
}

// giveBack refunds provisional charges. One that can not be refunded is reported
// as charged, with its receipt.
func (t *taking) giveBack(ctx context.Context, ts []target, nows []int64, cells []seen, out []core.Verdict, back []int) {
	var refunds []target
	var corrections []correction
	for _, i := range back {
		refunds = append(refunds, ts[i])
		corrections = append(corrections, correction{out[i].Receipt, -ts[i].cost})
	}
	for k, err := range t.b.correct(ctx, t.at, refunds, corrections) {
		if i := back[k]; err == nil {
			out[i] = ts[i].verdict(nows[i], cells[i].state, false, false)
		}
	}
}

// strike charges what a refusal charges.
func (t *taking) strike(ctx context.Context, ts []target, out []core.Verdict, strikes []int) {
	var charges []target
	for _, i := range strikes {
		charge := ts[i]
		charge.when, charge.soft, charge.last = core.Always, true, true
		charges = append(charges, charge)
	}
	if len(charges) == 0 {
		return
	}
	parts := bySlot(charges)
	for p, a := range t.b.runAll(ctx, t.at, parts) {
		for k, place := range parts[p].places {
			i := strikes[place]
			switch {
			case a.err != nil:
				out[i] = core.Verdict{Err: a.err}
			case a.cells[k].err != nil:
				out[i] = core.Verdict{Err: a.cells[k].err}
			default:
				ok := out[i].OK
				out[i] = charges[place].verdict(a.now, a.cells[k].state, true, false)
				out[i].OK = ok
				if ok {
					out[i].RetryAfter = 0
				}
			}
		}
	}
}
