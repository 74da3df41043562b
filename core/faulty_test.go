package core_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// A faulty backend is a store in which every policy's cells live apart, and some
// can not be reached. It follows the contract: an ask that is ErrUnavailable has
// no say, any other error vetoes.
type faulty struct {
	core.Backend
	own     core.Backend     // what it brings along; nil for nothing
	errs    map[string]error // by policy
	whole   bool             // the cells live together, and one error is that of all
	lost    bool             // what answers with an error has been charged
	vetoes  bool             // any error leaves the others uncharged, as the contract has it too
	second  func()           // comes before the second Take
	takes   int
	took    []string // the policies whose asks were charged
	settled []string // and those that were given back
}

func newFaulty() *faulty {
	return &faulty{Backend: memory.New(), own: memory.New(), errs: map[string]error{}}
}

func (f *faulty) Fallback() core.Backend { return f.own }

func (f *faulty) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (now int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if f.takes++; f.takes == 2 && f.second != nil {
		f.second()
	}
	veto := false
	var reached []core.Ask
	var places []int
	for i, a := range asks {
		bad := f.errs[a.Cell.Space.Policy()]
		if bad != nil {
			out[i] = core.Verdict{Err: bad}
			veto = veto || f.vetoes || !errors.Is(bad, core.ErrUnavailable)
			err = errors.Join(err, bad)
		}
		if bad == nil || f.lost {
			reached, places = append(reached, a), append(places, i)
		}
	}
	if len(reached) == 0 || err != nil && f.whole {
		return 0, err
	}
	if veto {
		for k := range reached {
			reached[k].When = core.Never
		}
	}
	verdicts := make([]core.Verdict, len(reached))
	now, err = f.Backend.Take(ctx, at, reached, verdicts)
	for k, i := range places {
		if verdicts[k].Charged {
			f.took = append(f.took, asks[i].Cell.Space.Policy())
		}
		verdicts[k].Err = out[i].Err
		out[i] = verdicts[k]
	}
	return now, err
}

func (f *faulty) Settle(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
	for _, a := range asks {
		f.settled = append(f.settled, a.Cell.Space.Policy())
	}
	return f.Backend.Settle(ctx, at, asks, rs, delta)
}

func (f *faulty) Reset(ctx context.Context, cells ...core.Cell) error {
	for _, c := range cells {
		if err := f.errs[c.Space.Policy()]; err != nil {
			return err
		}
	}
	return f.Backend.Reset(ctx, cells...)
}

// used is what the policy has counted for the client 192.0.2.1 in a backend, of
// 10 a minute.
func used(t *testing.T, c *clock, b core.Backend, policy string) int64 {
	t.Helper()
	l := configured(t, core.Config{Backend: b, Now: c.now, Policies: []core.Policy{ten(policy, core.Fallback)}})
	d, err := l.PeekRequest(get("192.0.2.1"))
	if err != nil {
		t.Fatal(err)
	}
	return 10 - d.Remaining
}

// ten is a policy of ten a minute, exactly.
func ten(name string, mode core.FailureMode) core.Policy {
	return core.Policy{Name: name, Rate: "10/m", Strategy: core.MovingWindow{}, OnFailure: mode}
}
