package core_test

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// A recorder notes who was refused by which rate.
type recorder struct {
	core.Base
	rows *[]record
}

type record struct {
	item string
	key  core.Key
}

func (h recorder) RecordDenial(_ core.Request, e core.Entry, key core.Key) {
	*h.rows = append(*h.rows, record{e.Item, key.Clone()})
}

func TestRecordersLearnWhomEachPolicyRefused(t *testing.T) {
	ip := core.KeyOfPrefix(netip.MustParsePrefix("192.0.2.1/32"))
	name := core.KeyOf(core.KindForm, "u", "alice")
	for text, c := range map[string]struct {
		policies []core.Policy
		want     []record
	}{
		"the identity as it was counted, of the rate with the longest wait": {
			[]core.Policy{{Name: "a", Rate: "1/s; 1/m; 9/h"}}, []record{{"a-1m", ip}}},
		"the first of equal waits": {
			[]core.Policy{{Name: "a", Rate: "0/s; 0/m"}}, []record{{"a-1s", ip}, {"a-1s", ip}}},
		"every identity": {
			[]core.Policy{{Name: "a", Rate: "1/m", By: "each(ip,post:u)"}}, []record{{"a", ip}, {"a", name}}},
		"every policy, also one that only annotates, but none that admits": {
			[]core.Policy{
				{Name: "a", Rate: "1/m", Mode: core.Annotate},
				{Name: "b", Rate: "9/m"},
				{Name: "c", Rate: "1/m", By: "post:u", CountDenied: true},
			}, []record{{"a", ip}, {"c", name}}},
		"no identity where there is none": {
			[]core.Policy{
				{Name: "a", Rate: "1/m", Mode: core.Annotate},
				{Name: "b", Rate: "1/m", By: "header:X-None", Missing: core.MissingRefuse, Mode: core.Annotate},
			}, []record{{"b", core.Key{}}, {"a", ip}, {"b", core.Key{}}}},
		"no identity where nothing was decided": {
			[]core.Policy{
				{Name: "a", Rate: "1/m"},
				{Name: "b", Rate: "1/m", By: "header:X-None", Missing: core.MissingRefuse},
			}, []record{{"b", core.Key{}}, {"b", core.Key{}}}},
	} {
		var rows []record
		for i := range c.policies {
			c.policies[i].Hooks = recorder{rows: &rows}
			c.policies[i].Strategy = core.MovingWindow{}
		}
		l := limiter(t, newClock(), c.policies...)
		visit(l, request("POST", "/", "192.0.2.1", "u=alice"))
		visit(l, request("POST", "/", "192.0.2.1", "u=alice"))
		if !slices.Equal(rows, c.want) {
			t.Errorf("%s: recorded %v, want %v", text, rows, c.want)
		}
	}
}

// undecided is a backend that can not decide any single ask.
type undecided struct{ core.Backend }

func (b undecided) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	for i := range out {
		out[i] = core.Verdict{Err: core.ErrUnavailable}
	}
	return 1, nil
}

func TestWhatCouldNotBeDecidedIsNoDenial(t *testing.T) {
	var rows []record
	l := configured(t, core.Config{Backend: undecided{memory.New()}, Policies: []core.Policy{
		{Name: "a", Rate: "1/m", Mode: core.Annotate, Hooks: recorder{rows: &rows}}}})
	if v := visit(l, get("192.0.2.1")); v.Decision.Limited || !v.Pass || len(rows) > 0 {
		t.Errorf("limited %v, recorded %v; what could not be decided annotates nothing", v.Decision.Limited, rows)
	}
}
