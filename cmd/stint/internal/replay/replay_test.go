package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/cmd/stint/internal/trace"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/policyfile"
)

// policies is a file of one policy per strategy.
func policies(t *testing.T, rate string, strategies ...core.Strategy) *policyfile.File {
	t.Helper()
	rates, err := core.ParseRates(rate)
	if err != nil {
		t.Fatal(err)
	}
	f := new(policyfile.File)
	for i, s := range strategies {
		f.Policies = append(f.Policies, policyfile.Policy{Policy: core.Policy{Name: fmt.Sprintf("p%d", i), Rates: rates, Strategy: s, Key: core.ByIP}})
	}
	return f
}

func lane(t *testing.T, f *policyfile.File) *Lane {
	t.Helper()
	l, err := NewLane("lane", f, memory.New(), "")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func ask(t *testing.T, l *Lane, e trace.Entry) Outcome {
	t.Helper()
	var o Outcome
	if err := l.decide(&e, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func take(at int64, key string, cost int64) trace.Entry {
	return trace.Entry{At: at, Cost: cost, HasCost: true, Keys: []string{key}}
}

// traffic is some keys' requests at random, over many windows of 60 ms, with looks,
// refunds and clocks that go back a little.
func traffic(n int) (list []trace.Entry) {
	r := rand.New(rand.NewPCG(1, 2))
	at := int64(0)
	for range n {
		at += r.Int64N(5000)
		e := take(max(0, at-r.Int64N(2000)), fmt.Sprint("k", r.IntN(8)), r.Int64N(4))
		switch r.IntN(8) {
		case 0:
			e.Op = trace.Peek
		case 1:
			e.Op = trace.Refund
		case 2:
			e.Keys = append(e.Keys, fmt.Sprint("k", r.IntN(8)))
		}
		list = append(list, e)
	}
	return list
}

var all = []core.Strategy{core.FixedWindow{}, core.FixedWindow{Align: core.FirstHit}, core.BucketedWindow{Align: core.Clock},
	core.SlidingWindow{}, core.MovingWindow{}, core.GCRA{Burst: 3}}

// Forgetting cells that are empty again, early and often, changes no decision; and
// it does forget.
func TestSweepingChangesNoDecision(t *testing.T) {
	for _, s := range all {
		f := policies(t, "5/60ms", s)
		kept, swept := lane(t, f), lane(t, f)
		most := 0
		for i, e := range traffic(20_000) {
			swept.ledger.sweepAt, swept.ledger.least = 1, 1
			a, b := ask(t, kept, e), ask(t, swept, e)
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("%T, entry %d: %+v, and swept: %+v", s, i, a, b)
			}
			most = max(most, len(swept.ledger.accounts))
		}
		for i := range 100 { // new keys all the time
			ask(t, swept, take(1e12+int64(i)*1e9, fmt.Sprint("new", i), 1))
		}
		if n := len(swept.ledger.accounts); n > 2 {
			t.Errorf("%T: %d cells are live after 100 keys that were one-time guests, want 2 at most", s, n)
		}
		if keys, _ := swept.Keys(); keys+int64(len(swept.ledger.accounts)) < 100 {
			t.Errorf("%T: %d keys counted, want those that were forgotten too", s, keys)
		}
	}
}

// A trace that begins at 0 is decided as one that begins a whole number of windows
// later, whatever is aligned to the clock or staggered.
func TestInstantsFromZeroOn(t *testing.T) {
	for _, s := range append(all, core.FixedWindow{Align: core.Clock}, core.SlidingWindow{Align: core.Clock}) {
		early, late := lane(t, policies(t, "5/60ms; 9/100ms", s)), lane(t, policies(t, "5/60ms; 9/100ms", s))
		for i, e := range traffic(2000) {
			if i == 0 {
				e.At = 0
			}
			a := ask(t, early, e)
			e.At += 1_700_000_000_100_000 // a multiple of 300 ms
			if b := ask(t, late, e); !reflect.DeepEqual(a, b) {
				t.Fatalf("%T, entry %d: %+v, and much later %+v", s, i, a, b)
			}
		}
	}
	if _, err := NewLane("", policies(t, "1/1000001us; 1/1000003us; 1/1000033us; 1/1000037us", nil), memory.New(), ""); err == nil {
		t.Error("windows without a common multiple in reach were taken")
	}
}

func TestRefunds(t *testing.T) {
	l := lane(t, policies(t, "5/m", core.FixedWindow{Align: core.FirstHit}))
	refund := func(at, cost int64, has bool) Outcome {
		return ask(t, l, trace.Entry{At: at, Op: trace.Refund, Cost: cost, HasCost: has, Keys: []string{"a"}})
	}
	for i, step := range []struct {
		o                   Outcome
		remaining, refunded int64
	}{
		{refund(0, 1, true), 5, 0}, // nothing was charged yet
		{ask(t, l, take(0, "a", 2)), 3, 0},
		{ask(t, l, take(1, "a", 3)), 0, 0},
		{refund(2, 2, true), 2, 2},
		{refund(3, 1, true), 2, 0}, // a charge is corrected once
		{ask(t, l, take(4, "a", 1)), 1, 0},
		{refund(5, 99, true), 2, 1}, // never more than was charged
		{ask(t, l, take(6, "a", 2)), 0, 0},
		{ask(t, l, take(7, "a", 1)), 0, 0}, // refused: the latest charge is the one before
		{refund(8, 0, false), 2, 2},        // all of it
		{refund(9, 0, true), 2, 0},
	} {
		if step.o.Remaining != step.remaining || step.o.Refunded != step.refunded {
			t.Errorf("step %d: remaining %d, refunded %d; want %d and %d", i, step.o.Remaining, step.o.Refunded, step.remaining, step.refunded)
		}
	}
	if l.Totals.Refunds != 6 || l.Totals.Requests != 5 {
		t.Errorf("%+v, want 6 refunds and 5 requests", l.Totals)
	}
}

// A charge of several keys is refunded to each of them, whichever way they come.
func TestRefundsOfSeveralKeys(t *testing.T) {
	l := lane(t, policies(t, "5/m; 9/h", core.MovingWindow{}))
	both := take(0, "a", 4)
	both.Keys = []string{"a", "b"}
	ask(t, l, both)
	o := ask(t, l, trace.Entry{At: 1, Op: trace.Refund, Cost: 3, HasCost: true, Keys: []string{"b"}})
	if o.Remaining != 4 || o.Refunded != 3 {
		t.Errorf("b: %+v, want 4 remaining", o)
	}
	if o := ask(t, l, trace.Entry{At: 1, Op: trace.Peek, Keys: []string{"a"}, HasCost: true}); o.Remaining != 1 {
		t.Errorf("a: %+v, want 1 remaining: nothing was given back to it", o)
	}
}

func TestPolicyFilesSeeTheRequests(t *testing.T) {
	f, err := policyfile.Parse("", []byte(`
policies:
  - {name: api, rate: 2/m, key: "header:X-Api-Key", missing: refuse, except: [/healthz],
     overrides: [{match: {"header:X-Api-Key": big}, times: 2, until: 1970-01-01T00:00:30Z}]}
  - {name: login, rate: 1/m, key: ip+post:name, methods: [POST], cost: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	l := lane(t, f)
	request := func(at time.Duration, key, method, path, name string) trace.Entry {
		return trace.Entry{At: at.Microseconds(), Verb: method, URI: path, Client: netip.MustParseAddr("192.0.2.1"),
			Fields: []trace.Field{{Name: "X-Api-Key", Value: key}}, Form: []trace.Field{{Name: "name", Value: name}}}
	}
	for i, step := range []struct {
		e       trace.Entry
		allowed bool
		policy  string
	}{
		{request(0, "k", "GET", "/", ""), true, "api"},
		{request(0, "k", "POST", "/", "bob"), true, "api"}, // both remain with 0; the first speaks
		{request(0, "k", "GET", "/", ""), false, "api"},
		{request(0, "", "GET", "/", ""), false, "api"},
		{request(0, "k", "GET", "/healthz", ""), true, ""},
		{request(0, "other", "POST", "/", "bob"), false, "login"},
		{request(0, "big", "GET", "/", ""), true, "api"},
		{request(0, "big", "GET", "/", ""), true, "api"},
		{request(0, "big", "GET", "/", ""), true, "api"},
		{request(30*time.Second, "big", "GET", "/", ""), false, "api"}, // the override has ended, what was consumed counts
	} {
		o := ask(t, l, step.e)
		if o.Allowed != step.allowed || o.Policy != step.policy {
			t.Errorf("step %d: %+v, want allowed %v by %q", i, o, step.allowed, step.policy)
		}
	}
	if l.Totals.Unlimited != 1 || l.Totals.Refused != 4 {
		t.Errorf("%+v", l.Totals)
	}
}

func TestAClientWithoutAnAddressIsNoRefusal(t *testing.T) {
	l := lane(t, policies(t, "5/m", nil))
	if o := ask(t, l, trace.Entry{}); !errors.Is(o.Err, core.ErrIdentity) || o.Allowed || l.Totals.Undecided != 1 || l.Totals.Refused != 0 {
		t.Errorf("%+v, %+v", o, l.Totals)
	}
}

// batches of one entry each.
func batches(list ...trace.Entry) iter.Seq[*trace.Batch] {
	return func(yield func(*trace.Batch) bool) {
		for _, e := range list {
			if !yield(&trace.Batch{Entries: []trace.Entry{e}}) {
				return
			}
		}
	}
}

func TestLanesAreCompared(t *testing.T) {
	r := Run{Lanes: []*Lane{lane(t, policies(t, "1/m", core.MovingWindow{})), lane(t, policies(t, "2/m", core.MovingWindow{}))}}
	var order []string
	r.Decided = func(e *trace.Entry, outcomes []Outcome) error {
		order = append(order, fmt.Sprintf("%s %v %v", e.Keys[0], outcomes[0].Allowed, outcomes[1].Allowed))
		return nil
	}
	err := r.Do(t.Context(), batches(take(1000, "a", 1), take(2000, "a", 1), take(500, "a", 1), take(3000, "b", 1)))
	if want := []string{"a true true", "a false true", "a false false", "b true true"}; err != nil || !slices.Equal(order, want) {
		t.Errorf("%v %v, want %v", order, err, want)
	}
	d := r.Result.Differ
	if d.Requests != 1 || d.Against[1][0] != 1 || d.Against[0][1] != 0 || d.Top(9)[0].Key != "a" {
		t.Errorf("differences: %+v", d)
	}
	if s := r.Result; s.Entries != 4 || s.Late != 1 || s.MaxLate != 1500 || s.From != 500 || s.To != 3000 {
		t.Errorf("result: %+v", s)
	}
	keys, refused := r.Lanes[0].Keys()
	if top := r.Lanes[0].Top(1); keys != 2 || refused != 1 || top[0].Key != "a" || top[0].Requests != 3 || top[0].Refused != 2 {
		t.Errorf("%d keys, %d refused, top %+v", keys, refused, top)
	}
}

func TestAnInterruptedRunKeepsWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := Run{Lanes: []*Lane{lane(t, policies(t, "1/m", nil))}}
	r.Decided = func(e *trace.Entry, _ []Outcome) error {
		if e.At == 2 {
			cancel()
		}
		return nil
	}
	err := r.Do(ctx, batches(take(1, "a", 1), take(2, "a", 1), take(3, "a", 1)))
	if err != nil || !r.Result.Interrupted || r.Result.Entries != 2 || r.Lanes[0].Totals.Requests != 2 {
		t.Errorf("%v, %+v, %+v; want two entries", err, r.Result, r.Lanes[0].Totals)
	}
}

// failing answers an error from the second Take on.
type failing struct {
	core.Backend
	takes int
}

func (f *failing) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	if f.takes++; f.takes > 1 {
		return 0, core.ErrUnavailable
	}
	return f.Backend.Take(ctx, at, asks, out)
}

func TestABackendThatFailsEndsTheRun(t *testing.T) {
	for _, place := range []int{0, 1} {
		lanes := []*Lane{lane(t, policies(t, "1/m", nil)), lane(t, policies(t, "1/m", nil))}
		var err error
		if lanes[place], err = NewLane("x", policies(t, "1/m", nil), &failing{Backend: memory.New()}, ""); err != nil {
			t.Fatal(err)
		}
		one := func(yield func(*trace.Batch) bool) {
			yield(&trace.Batch{Entries: []trace.Entry{take(1, "a", 1), take(2, "a", 1), take(3, "a", 1)}})
		}
		r := Run{Lanes: lanes}
		if err := r.Do(t.Context(), one); !errors.Is(err, core.ErrUnavailable) || r.Result.Entries != 1 {
			t.Errorf("%v after %d entries, want unavailable after 1", err, r.Result.Entries)
		}
	}
}

func TestKeyText(t *testing.T) {
	for want, k := range map[string]core.Key{
		"192.0.2.1":             core.KeyOfPrefix(netip.MustParsePrefix("192.0.2.1/32")),
		"192.0.2.0/24":          core.KeyOfPrefix(netip.MustParsePrefix("192.0.2.1/24")),
		"2001:db8::/64":         core.KeyOfPrefix(netip.MustParsePrefix("2001:db8::1/64")),
		"bob":                   core.KeyOf(core.KindUser, "", "bob"),
		"GET /a + k":            core.JoinKeys(core.KeyOf(core.KindRoute, "GET", "/a"), core.KeyOf(core.KindHeader, "X", "k")),
		"(no header:X-Api-Key)": core.KeyOf(core.KindMissing, "header:X-Api-Key", ""),
		"":                      {},
	} {
		if got := KeyText(k); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCountsAreBounded(t *testing.T) {
	c := newCounts()
	for i := range 3 * mostCounts {
		c.add(Identity{Key: fmt.Sprint(i)}, 1, 0)
		c.add(Identity{Key: "loud"}, 1, 1)
	}
	if len(c.by) > mostCounts {
		t.Errorf("%d identities are kept", len(c.by))
	}
	if all, refused := c.keys(); all != 3*mostCounts+1 || refused != 1 {
		t.Errorf("%d identities, %d refused", all, refused)
	}
	if top := c.top(1); top[0].Key != "loud" || top[0].Requests != 3*mostCounts {
		t.Errorf("top is %+v", top)
	}
}

func TestSeriesJoinsSteps(t *testing.T) {
	var s Series
	for i := range int64(100_000) {
		s.Add(5e6+i*1000, i%4 > 0)
	}
	var allowed, refused int64
	for i := range s.Allowed {
		allowed, refused = allowed+s.Allowed[i], refused+s.Refused[i]
		if n := s.Allowed[i] + s.Refused[i]; n != s.Step/1000 && i < len(s.Allowed)-1 {
			t.Errorf("step %d has %d requests, want one a millisecond", i, n)
		}
	}
	if len(s.Allowed) > SeriesLength || len(s.Allowed) < SeriesLength/2-1 || allowed != 75_000 || refused != 25_000 || s.Start != 5e6 {
		t.Errorf("%d steps of %d µs from %d: %d allowed, %d refused", len(s.Allowed), s.Step, s.Start, allowed, refused)
	}
}

// A trace on Redis would take other phases than one in memory, were they not given.
func TestPhasesAreThoseOfAStoreWithoutASecret(t *testing.T) {
	g := newLedger(memory.New())
	space := core.NewSpace("p", 60e6, "sliding-staggered", nil, g.phase)
	rule, err := core.SlidingWindow{}.Bind(core.Rate{Limit: 1, Window: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	c := core.Cell{Space: space, Key: core.NewKey("a", "b")}
	want := int64(c.Digest().Hash() % 60e6)
	for range 3 { // before there is an account, and afterwards
		if got := c.Phase(0); got != want {
			t.Errorf("phase %d, want %d", got, want)
		}
		if _, err := g.Take(t.Context(), 1, []core.Ask{{Cell: c, Rule: rule, Cost: 1}}, make([]core.Verdict, 1)); err != nil {
			t.Fatal(err)
		}
	}
}

// What was refused and counted all the same can not be given back: a refund means
// the latest charge that was admitted.
func TestRefundsUnderCountDenied(t *testing.T) {
	f := policies(t, "5/m", core.FixedWindow{Align: core.FirstHit})
	f.Policies[0].CountDenied = true
	l := lane(t, f)
	ask(t, l, take(0, "a", 3))
	ask(t, l, take(1, "a", 3)) // refused, and fills the window
	o := ask(t, l, trace.Entry{At: 2, Op: trace.Refund, Keys: []string{"a"}})
	if o.Refunded != 3 || o.Remaining != 3 {
		t.Errorf("%+v, want 3 given back", o)
	}
}

// A charge is refunded under the limit that it was made under: GCRA's receipts are
// worth nothing under another one.
func TestRefundsAcrossAnOverride(t *testing.T) {
	f, err := policyfile.Parse("", []byte(`
policies:
  - {name: api, rate: 4/m, strategy: gcra, key: user,
     overrides: [{match: {user: bob}, times: 2, until: 1970-01-01T00:00:01Z}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	l := lane(t, f)
	bob := trace.Entry{UserName: "bob", Cost: 4, HasCost: true}
	ask(t, l, bob)
	bob.At, bob.Op = 2e6, trace.Refund
	if o := ask(t, l, bob); o.Refunded != 4 || o.Limit != 4 || o.Remaining != 4 {
		t.Errorf("%+v, want all of it given back", o)
	}
}
