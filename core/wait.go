package core

import (
	"context"
	"fmt"
	"math/bits"
	"time"
)

// A Waiter lets callers wait for their turn instead of refusing them: for jobs,
// for outgoing calls. It is made by Limiter.Waiter, is safe for concurrent use,
// and shares its cells with the policy: what waits is charged like what is asked
// for by Allow, and both together stay within the rate.
type Waiter struct {
	limiter *Limiter
	policy  *policy
	space   *Space
	queue   Rule  // the policy's rule with a burst that has room for all who wait
	burst   int64 // units, and the microseconds that they take to come back
	full    int64
}

// Waiter makes a Waiter of the named policy, which must count by GCRA with one
// fixed rate: only its cells can hold what is charged ahead. With a burst of 1
// no interval of a window's length ever sees more than the limit, as long as
// nothing that was charged to those cells is given back (CountIf, Reservation):
// turns that have been promised by then do not move up, and the next one would
// meet the last of them. AllowList and DenyList concern nobody who waits.
//
// Neither limit nor burst are a part of a cell. So the same cell under the same
// rate with a far larger burst is a queue: a charge that the policy would refuse
// is admitted there, and how far it lies beyond the policy's own burst is how
// long its turn is away. One call to the backend reserves it; nothing is polled.
func (l *Limiter) Waiter(policy string) (*Waiter, error) {
	p, err := l.policy(policy)
	if err != nil {
		return nil, err
	}
	rule := (*gcraRule)(nil)
	if len(p.quotas) == 1 && !p.soft {
		rule, _ = p.quotas[0].rule.(*gcraRule)
	}
	if rule == nil || rule.limit == 0 {
		return nil, fmt.Errorf("stint: policy %s: %w: only a policy of one fixed rate above 0 with Strategy: core.GCRA{} that enforces it, without a Ban or Candidate, lets callers wait",
			policy, ErrUnsupported)
	}
	queue, err := GCRA{Burst: rule.longest()}.Bind(p.quotas[0].rate)
	if err != nil {
		return nil, err
	}
	return &Waiter{l, p, p.quotas[0].space, queue, rule.burst, rule.full.q}, nil
}

// longest is the largest burst that Bind takes at this rate.
func (r *gcraRule) longest() int64 {
	hi, lo := bits.Mul64(maxBacklog-1, uint64(r.limit))
	if hi >= uint64(r.window) {
		return MaxLimit
	}
	q, _ := bits.Div64(hi, lo, uint64(r.window))
	return int64(min(q, uint64(MaxLimit)))
}

// Wait reserves the next free turn of the key for cost units, in one call to the
// backend, and returns nil when it has come. Turns come in the order in which
// they were reserved.
//
// Where ctx ends before the turn, Wait returns an error that is ctx's (for a
// deadline at once, without waiting for it), and gives the turn back unless
// another is reserved behind it: that one's instant has been promised, and the
// room in front of it stays empty. A cost above the policy's burst is an error,
// and so is whatever breaks in the backend: nobody's turn has come then.
//
// It waits in real time, whatever Config.Now says. Where Config.Disabled is set
// every turn is now.
func (w *Waiter) Wait(ctx context.Context, key Key, cost int64) error {
	if w.limiter.config.Disabled {
		return ctx.Err()
	}
	if cost < 0 || cost > w.burst {
		return fmt.Errorf("stint: policy %s: cost %d: use 0 to %d, its burst", w.policy.name, cost, w.burst)
	}
	turn, err := w.reserve(ctx, key, cost)
	if err != nil {
		return fmt.Errorf("stint: policy %s: %w", w.policy.name, err)
	}
	if turn.away == 0 {
		return nil
	}
	// Measured from now on: the backend has read its clock before it answered, so
	// that the turn is never taken early.
	if end, ok := ctx.Deadline(); ok && time.Until(end) < turn.away {
		w.giveBack(ctx, turn)
		return fmt.Errorf("stint: policy %s: the turn is %v away: %w", w.policy.name, turn.away, context.DeadlineExceeded)
	}
	timer := time.NewTimer(turn.away)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		w.giveBack(ctx, turn)
		return ctx.Err()
	}
}

// A turn is a charge whose time has not come yet.
type turn struct {
	ask     Ask
	receipt Receipt
	away    time.Duration
}

func (w *Waiter) reserve(ctx context.Context, key Key, cost int64) (turn, error) {
	asks := [1]Ask{{Cell: Cell{w.space, key}, Rule: w.queue, Cost: cost}}
	var out [1]Verdict
	_, err := w.limiter.backend.Take(ctx, w.limiter.at(), asks[:], out[:])
	if err == nil {
		err = out[0].Err
	}
	if err == nil && !out[0].OK {
		err = fmt.Errorf("%w: the queue is full", ErrUnsupported)
	}
	if err != nil {
		return turn{}, err
	}
	return turn{asks[0], out[0].Receipt, micros(max(0, out[0].ResetAfter-w.full))}, nil
}

// giveBack returns a turn that nobody will take. An error is only logged: the
// turn is lost then, as it is where others stand behind it.
func (w *Waiter) giveBack(ctx context.Context, t turn) {
	if t.ask.Cost == 0 {
		return
	}
	err := w.limiter.backend.Settle(context.WithoutCancel(ctx), w.limiter.at(),
		[]Ask{t.ask}, []Receipt{ifLatest(t.receipt)}, []int64{-t.ask.Cost})
	if err != nil {
		w.limiter.failed(w.policy.name, fmt.Errorf("giving back a turn: %w", err))
	}
}
