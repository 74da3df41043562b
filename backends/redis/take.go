package redislimit

import (
	"context"
	"fmt"

	"github.com/stint-go/stint/core"
)

// Take implements core.Backend. On one server it is one EVALSHA, however many
// asks there are. In a Cluster or Ring it is one per place that asks live in;
// see decideApart for decisions that live in several.
func (b *Backend) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if len(asks) == 0 || len(out) != len(asks) || at < 0 {
		return 0, errInput
	}
	if b.guards.shut() {
		return 0, errOpen
	}
	ts, err := b.targets(asks, at != 0)
	if err != nil {
		return 0, err
	}
	sent := b.denied.Now()
	ctx, cancel := b.deadline(ctx)
	defer cancel()
	t := taking{b: b, at: at}
	for first := 0; first < len(ts); {
		end, together := b.stretch(ts[first:])
		end += first
		switch {
		case !together:
			t.decideApart(ctx, ts[first:end], out[first:end])
		default:
			t.decideTogether(ctx, ts[first:end], out[first:end])
		}
		first = end
	}
	if err = t.result(); err == nil && at == 0 {
		b.denied.Learn(sent, t.now, asks, out)
	}
	return t.now, err
}

// A taking is a Take under way.
type taking struct {
	b       *Backend
	at, now int64
	decided bool  // something was
	err     error // the first one
}

// result is the error of the whole call: there is one where nothing was decided.
// The verdicts have the errors of each ask.
func (t *taking) result() error {
	if t.decided {
		return nil
	}
	return t.err
}

func (t *taking) failed(err error, out []core.Verdict) {
	if t.err == nil {
		t.err = err
	}
	for i := range out {
		out[i] = core.Verdict{Err: err}
	}
}

// saw notes the instant of a program that has decided something.
func (t *taking) saw(now int64) {
	t.decided = true
	t.now = max(t.now, now)
}

// stretch is how many of the asks go to the store in one step, and whether they
// are whole decisions that live in one place each.
func (b *Backend) stretch(ts []target) (n int, together bool) {
	for n < len(ts) {
		end, scripted := n, true
		for {
			scripted = scripted && ts[end].programmed && ts[end].slot == ts[n].slot
			end++
			if ts[end-1].last {
				break
			}
		}
		if !scripted {
			if n == 0 {
				return end, false
			}
			break
		}
		n = end
	}
	return n, true
}

// decideTogether decides whole decisions that live in one place each: one
// program per place, all places at once.
func (t *taking) decideTogether(ctx context.Context, ts []target, out []core.Verdict) {
	if len(ts) == 1 || t.b.slotOf == nil || oneSlot(ts) {
		now, cells, err := t.b.run(ctx, t.at, ts)
		if err != nil {
			t.failed(err, out)
			return
		}
		t.saw(now)
		eachDecision(ts, func(first, end int) {
			conclude(now, ts[first:end], cells[first:end], out[first:end])
		})
		return
	}
	parts := bySlot(ts)
	answers := t.b.runAll(ctx, t.at, parts)
	for i, p := range parts {
		verdicts := make([]core.Verdict, len(p.ts))
		if a := answers[i]; a.err != nil {
			t.failed(a.err, verdicts)
		} else {
			t.saw(a.now)
			eachDecision(p.ts, func(first, end int) {
				conclude(a.now, p.ts[first:end], a.cells[first:end], verdicts[first:end])
			})
		}
		for k, at := range p.places {
			out[at] = verdicts[k]
		}
	}
}

// eachDecision calls f with the bounds of every decision.
func eachDecision(ts []target, f func(first, end int)) {
	for first, i := 0, 0; i < len(ts); i++ {
		if ts[i].last {
			f(first, i+1)
			first = i + 1
		}
	}
}

// run decides and charges asks that live in one place, and tells what there was
// before.
func (b *Backend) run(ctx context.Context, at int64, ts []target) (now int64, cells []seen, err error) {
	if !programmed(ts) {
		return b.swap(ctx, at, ts)
	}
	c := b.decisionCall(at, ts)
	b.call(ctx, &c)
	return b.decided(&c, ts)
}

// programmed tells whether Lua knows all rules.
func programmed(ts []target) bool {
	for i := range ts {
		if !ts[i].programmed {
			return false
		}
	}
	return true
}

// decisionCall is the call that decides and charges asks that live in one place.
func (b *Backend) decisionCall(at int64, ts []target) call {
	keys, steps := make([]string, len(ts)), make([]step, len(ts))
	for i := range ts {
		keys[i], steps[i] = ts[i].name, ts[i].step
	}
	var args []any
	if at != 0 {
		args = append(args, at)
	}
	p := general[0]
	if at != 0 {
		p = general[1]
	}
	if own := b.plans.of(steps, at != 0); own != nil {
		p = own.program
		for i := range steps {
			args = steps[i].appendArguments(args, &own.plans[i])
		}
	} else {
		for i := range steps {
			args = steps[i].appendNumbers(args)
		}
	}
	return call{program: p, keys: keys, args: args}
}

// decided reads the reply of a decisionCall.
func (b *Backend) decided(c *call, ts []target) (now int64, cells []seen, err error) {
	if c.err != nil {
		return 0, nil, b.fail("take", c.err)
	}
	return parseReply(c.reply, ts)
}

// parseReply reads what a program returned.
func parseReply(reply any, ts []target) (now int64, cells []seen, err error) {
	elements, _ := reply.([]any)
	if len(elements) != len(ts)+1 {
		return 0, nil, fmt.Errorf("redislimit: take: %w: a reply of %T with %d elements", core.ErrProtocol, reply, len(elements))
	}
	now, ok := elements[0].(int64)
	if !ok || now <= 0 {
		return 0, nil, fmt.Errorf("redislimit: take: %w: a reply without an instant", core.ErrProtocol)
	}
	cells = make([]seen, len(ts))
	for i := range ts {
		if cells[i].state, ok = parseState(ts[i].Rule, ts[i].Strategy, elements[i+1]); !ok {
			cells[i].err = foreign(ts[i].name)
		}
	}
	return now, cells, nil
}
