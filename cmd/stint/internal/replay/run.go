// Package replay runs recorded traffic through policies under the clock of the
// trace.
package replay

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/stint-go/stint/cmd/stint/internal/trace"
)

// A Run is a trace on its way through lanes.
type Run struct {
	Lanes []*Lane
	// Beside are lanes that run along and are not compared.
	Beside []*Lane
	// Decided is called with each entry and what the lanes made of it, in the
	// order of the trace; nil is fine. The arguments are valid within the call.
	Decided func(e *trace.Entry, outcomes []Outcome) error
	// Progress is called now and then with what was read, in bytes and entries.
	Progress func(bytes, entries int64)
	// Strict ends the run at the first line that can not be read.
	Strict bool

	Result Result
}

// A Result is what is known of a whole run, whatever the lanes.
type Result struct {
	Entries     int64
	Broken      int64
	FirstBroken []trace.Broken
	Late        int64 // entries with an instant before one that came earlier
	MaxLate     int64 // microseconds
	From, To    int64 // the least and the largest instant
	Took        time.Duration
	Interrupted bool
	Differ      Differences
}

// ErrBroken ends a strict run.
var ErrBroken = errors.New("a line could not be read")

const shownBroken = 20

// Do runs the batches through the lanes. What was counted until an error or the
// end of ctx stays. The lanes are closed.
func (r *Run) Do(ctx context.Context, batches iter.Seq[*trace.Batch]) error {
	begin := time.Now()
	err := r.all(ctx, batches)
	r.Result.Took = time.Since(begin)
	r.Result.Interrupted = ctx.Err() != nil
	var wg sync.WaitGroup
	lanes := r.every()
	errs := make([]error, len(lanes))
	for i, l := range lanes {
		wg.Go(func() { errs[i] = l.Close() })
	}
	wg.Wait()
	return errors.Join(append(errs, err)...)
}

// every lane, those that are compared first.
func (r *Run) every() []*Lane { return slices.Concat(r.Lanes, r.Beside) }

func (r *Run) all(ctx context.Context, batches iter.Seq[*trace.Batch]) error {
	outcomes := make([][]Outcome, len(r.Lanes)+len(r.Beside))
	for b := range batches {
		r.broken(b)
		if r.Strict && r.Result.Broken > 0 {
			return ErrBroken
		}
		done, err := r.decide(ctx, b, outcomes)
		r.note(b.Entries[:done])
		if err := r.tell(b.Entries[:done], outcomes); err != nil {
			return err
		}
		if err != nil {
			return err
		}
		if r.Progress != nil {
			r.Progress(b.Read, r.Result.Entries)
		}
		if b.Err != nil {
			return b.Err
		}
	}
	return nil
}

// decide puts a batch to all lanes. Where one fails or ctx ends, it answers how
// many entries all of them have decided.
func (r *Run) decide(ctx context.Context, b *trace.Batch, outcomes [][]Outcome) (done int, err error) {
	lanes := r.every()
	dones, errs := make([]int, len(lanes)), make([]error, len(lanes))
	lane := func(i int) {
		wanted := i < len(r.Lanes) && (r.Decided != nil || len(r.Lanes) > 1)
		if n := len(b.Entries); cap(outcomes[i]) < n && wanted {
			outcomes[i] = make([]Outcome, n)
		}
		var unwanted Outcome
		outcomes[i] = outcomes[i][:cap(outcomes[i])]
		for n := range b.Entries {
			if n%256 == 0 && ctx.Err() != nil {
				return
			}
			o := &unwanted
			if wanted {
				o = &outcomes[i][n]
			}
			if errs[i] = lanes[i].decide(&b.Entries[n], o); errs[i] != nil {
				return
			}
			dones[i]++
		}
	}
	var wg sync.WaitGroup
	for i := 1; i < len(lanes); i++ {
		wg.Go(func() { lane(i) })
	}
	lane(0)
	wg.Wait()
	done = dones[0]
	for _, n := range dones {
		done = min(done, n)
	}
	return done, errors.Join(errs...)
}

// tell compares the lanes, and passes on what they made of the entries.
func (r *Run) tell(entries []trace.Entry, outcomes [][]Outcome) error {
	if r.Decided == nil && len(r.Lanes) < 2 {
		return nil
	}
	row := make([]Outcome, len(r.Lanes))
	for n := range entries {
		for i := range row {
			row[i] = outcomes[i][n]
		}
		if len(row) > 1 && entries[n].Op == trace.Take {
			r.Result.Differ.note(&entries[n], row)
		}
		if r.Decided != nil {
			if err := r.Decided(&entries[n], row); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Run) broken(b *trace.Batch) {
	r.Result.Broken += int64(len(b.Broken))
	if room := shownBroken - len(r.Result.FirstBroken); room > 0 {
		r.Result.FirstBroken = append(r.Result.FirstBroken, b.Broken[:min(room, len(b.Broken))]...)
	}
}

// note keeps what the entries say by themselves.
func (r *Run) note(entries []trace.Entry) {
	s := &r.Result
	for i := range entries {
		at := entries[i].At
		switch {
		case s.Entries == 0:
			s.From, s.To = at, at
		case at < s.To:
			s.Late++
			s.MaxLate = max(s.MaxLate, s.To-at)
			s.From = min(s.From, at)
		default:
			s.To = at
		}
		s.Entries++
	}
}
