package replay

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/stint-go/stint/cmd/stint/internal/trace"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/policyfile"
)

// A Lane is one set of policies that a trace is run through. Lanes run side by
// side and share nothing.
type Lane struct {
	Name    string
	file    *policyfile.File
	config  core.Config
	ledger  *ledger
	natural *core.Limiter         // by the policies' own keys
	keyed   map[int]*core.Limiter // by the entries' keys, by how many they are
	shift   int64
	at      int64 // of the entry that is being decided

	Totals Totals
	Series Series
}

// Totals are what became of the entries of a lane.
type Totals struct {
	Requests  int64 // entries that asked: neither looks nor refunds
	Allowed   int64
	Refused   int64
	Annotated int64 // allowed, although over the limit of a policy that annotates
	Unlimited int64 // allowed, as no policy applied
	Undecided int64 // could not be decided, as of an identity that is missing: answered with an error, not counted as refused
	Looks     int64
	Refunds   int64
}

// An Outcome is what became of one entry. Durations are microseconds.
type Outcome struct {
	Allowed, Applied, Limited bool
	Policy                    string
	Limit, Remaining          int64
	RetryAfter, ResetAfter    int64 // core.Forever is never
	Refunded                  int64
	Key                       core.Key // the first that was asked about; it refers to the entry
	Err                       error    // the entry could not be decided
}

// NewLane makes a lane of the policies in file on a backend of its own. prefix is
// for the names of cells in a store outside the process.
func NewLane(name string, file *policyfile.File, backend core.Backend, prefix string) (*Lane, error) {
	l := &Lane{Name: name, file: file, ledger: newLedger(backend), keyed: map[int]*core.Limiter{}}
	var err error
	if l.shift, err = shiftOf(file); err != nil {
		return nil, err
	}
	hooks := map[string]core.Hooks{}
	for _, p := range file.Policies {
		hooks[p.Name] = recorded{usual: cmp.Or(p.Cost, 1)}
	}
	l.config = file.Config(core.Config{
		Backend: l.ledger,
		User:    trace.User,
		Now:     func() time.Time { return time.UnixMicro(l.at) }, // overrides end by the trace's own clock
		Phase:   l.ledger.phase,
		Logger:  slog.New(slog.DiscardHandler), // what could not be decided is counted
	}, hooks)
	l.config.Now = func() time.Time { return time.UnixMicro(l.at + l.shift) }
	if prefix != "" {
		l.config.Prefix = prefix
	}
	for i, p := range file.Policies {
		l.config.Policies[i].Key = p.Key // also where changes begin anew: nothing changes here
	}
	l.natural, err = core.New(l.config)
	return l, err
}

// recorded are the hooks of a policy: what a request costs is what was recorded.
type recorded struct {
	core.Base
	usual int64
}

// Cost implements core.Coster. A refund looks at how things stand.
func (h recorded) Cost(r core.Request) int64 {
	switch e := r.Unwrap().(*trace.Entry); {
	case e.Op == trace.Refund:
		return 0
	case e.HasCost:
		return e.Cost
	}
	return h.usual
}

// limiter is the Limiter for an entry with so many keys of its own.
func (l *Lane) limiter(keys int) (*core.Limiter, error) {
	if keys == 0 {
		return l.natural, nil
	}
	if m := l.keyed[keys]; m != nil {
		return m, nil
	}
	c := l.config
	c.Policies = append([]core.Policy(nil), c.Policies...)
	for i := range c.Policies {
		c.Policies[i].Key, c.Policies[i].Missing = keysOf(keys), core.MissingShare
	}
	m, err := core.New(c)
	if err == nil {
		l.keyed[keys] = m
	}
	return m, err
}

// keysOf is the source of the entries' own keys: each is limited, all or nothing.
func keysOf(n int) core.KeySource {
	sources := make([]core.KeySource, n)
	for i := range sources {
		sources[i] = core.As("key", core.ByFunc("key", func(r core.Request) string { return r.Unwrap().(*trace.Entry).Keys[i] }))
	}
	if n == 1 {
		return sources[0]
	}
	return core.Each(sources...)
}

// decide puts one entry to the lane.
func (l *Lane) decide(e *trace.Entry, o *Outcome) error {
	m, err := l.limiter(len(e.Keys))
	if err != nil {
		return err
	}
	l.at = e.At
	var d core.Decision
	switch e.Op {
	case trace.Take:
		d, err = m.AllowRequest(e)
	case trace.Peek:
		d, err = m.PeekRequest(e)
	case trace.Refund:
		d, err = l.refund(m, e)
	}
	*o = Outcome{Allowed: d.Allowed, Applied: d.Policy != "", Limited: d.Limited, Policy: d.Policy, Limit: d.Limit,
		Remaining: d.Remaining, RetryAfter: micros(d.RetryAfter), ResetAfter: micros(d.ResetAfter), Refunded: l.ledger.refunded, Err: err}
	if o.Applied {
		o.Key = l.ledger.first
	}
	l.ledger.refunded = 0
	if err := l.ledger.failure; err != nil {
		return fmt.Errorf("%s: %w", l.Name, err)
	}
	l.count(e, o)
	return nil
}

func (l *Lane) refund(m *core.Limiter, e *trace.Entry) (core.Decision, error) {
	l.ledger.refund = math.MaxInt64
	if e.HasCost {
		l.ledger.refund = e.Cost
	}
	defer func() { l.ledger.refund = 0 }()
	return m.PeekRequest(e)
}

func micros(d time.Duration) int64 {
	if d == core.NoRetry {
		return core.Forever
	}
	return d.Microseconds()
}

func (l *Lane) count(e *trace.Entry, o *Outcome) {
	t := &l.Totals
	switch {
	case o.Err != nil:
		t.Undecided++
		return
	case e.Op == trace.Peek:
		t.Looks++
		return
	case e.Op == trace.Refund:
		t.Refunds++
		return
	}
	t.Requests++
	switch {
	case !o.Allowed:
		t.Refused++
	case o.Limited:
		t.Annotated++
	case !o.Applied:
		t.Unlimited++
	}
	if o.Allowed {
		t.Allowed++
	}
	l.Series.Add(e.At, o.Allowed)
}

// Keys is how many identities asked, and how many of them were refused.
func (l *Lane) Keys() (all, refused int64) { return l.ledger.retired.keys() }

// Top are the identities that were refused most, then those that asked most.
func (l *Lane) Top(n int) []KeyCount { return l.ledger.retired.top(n) }

// Close empties the cells of the lane and completes its counts.
func (l *Lane) Close() error { return l.ledger.close(context.Background()) }

// Shift is how far, in microseconds, the instants at the backend lie ahead of the
// trace's own.
func (l *Lane) Shift() int64 { return l.shift }

// Policies is how many policies the lane has.
func (l *Lane) Policies() int { return len(l.file.Policies) }
