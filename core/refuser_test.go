package core_test

import (
	"context"
	"hash/maphash"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// A forewarned backend knows by itself that some policies refuse everybody.
type forewarned struct {
	core.Backend
	seeds *[2]maphash.Seed
	known map[string]core.Judgement // by policy
	taken int
}

func newForewarned(known map[string]core.Judgement) *forewarned {
	return &forewarned{memory.New(), &[2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, known, 0}
}

func (b *forewarned) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	b.taken++
	return b.Backend.Take(ctx, at, asks, out)
}

func (b *forewarned) Seeds() *[2]maphash.Seed { return b.seeds }

func (b *forewarned) RefuseOne(space *core.Space, _ core.Rule, _ core.Print, _ int64) (core.Outcome, bool) {
	j, ok := b.known[space.Policy()]
	return core.Outcome{Judgement: j, Now: 1_700_000_000e6}, ok
}

func (b *forewarned) Refuse(asks []core.Ask) (int, core.Outcome) {
	if slices.ContainsFunc(asks, func(a core.Ask) bool { return a.Soft || a.When == core.Always || a.When == core.OnRefuse && !a.IsBan() }) {
		return -1, core.Outcome{}
	}
	for i := range asks {
		if o, ok := b.RefuseOne(asks[i].Cell.Space, nil, core.Print{}, 0); ok {
			return i, o
		}
	}
	return -1, core.Outcome{}
}

// What is known to be refused is refused with the figures that are known, and
// nothing is said of other policies; the backend is not asked.
func TestRefusedWithoutAsking(t *testing.T) {
	var rows []record
	full := core.Judgement{RetryAfter: 7_500_000, NextAfter: 7_500_000, ResetAfter: 60_000_000}
	ip := core.KeyOfPrefix(netip.MustParsePrefix("192.0.2.1/32"))
	for name, policies := range map[string][]core.Policy{
		"alone":           {{Name: "full", Rate: "5/m"}},
		"with hooks":      {{Name: "full", Rate: "5/m", Hooks: recorder{rows: &rows}}},
		"beside another":  {{Name: "other", Rate: "9/h"}, {Name: "full", Rate: "5/m", Hooks: recorder{rows: &rows}}},
		"by its function": {{Name: "full", RateFunc: func(string, core.Request) (core.Rates, error) { return core.ParseRates("5/m") }}},
	} {
		rows = nil
		b := newForewarned(map[string]core.Judgement{"full": full})
		l := configured(t, core.Config{Backend: b, Policies: policies, Headers: core.HeadersDraft10 | core.HeadersLegacy})
		v := visit(l, get("192.0.2.1"))
		d := v.Decision
		if v.Pass || v.Response.Status != 429 || d.Allowed || !d.Limited || d.Policy != "full" || d.Limit != 5 || d.RetryAfter != 7500*time.Millisecond || d.ResetAfter != time.Minute {
			t.Errorf("%s: %+v", name, v)
		}
		fields := map[string]string{}
		for name, value := range d.Header() {
			fields[name] = value
		}
		for field, want := range map[string]string{
			"Ratelimit-Policy": `"full";q=5;w=60`, "Ratelimit": `"full";r=0;t=8`, "Retry-After": "8", "X-Ratelimit-Reset": "1700000060",
		} {
			if fields[field] != want {
				t.Errorf("%s: %s is %q, want %q", name, field, fields[field], want)
			}
		}
		if policies[len(policies)-1].Hooks != nil && (len(rows) != 1 || rows[0] != record{"full", ip}) {
			t.Errorf("%s: recorded %v", name, rows)
		}
		for ask, f := range map[string]func() (core.Decision, error){
			"Allow":        func() (core.Decision, error) { return l.Allow(t.Context(), "full", ip, 1) },
			"Peek":         func() (core.Decision, error) { return l.Peek(t.Context(), "full", ip, 1) },
			"AllowRequest": func() (core.Decision, error) { return l.AllowRequest(get("192.0.2.1")) },
		} {
			if d, err := f(); err != nil || d.Allowed || d.RetryAfter != 7500*time.Millisecond {
				t.Errorf("%s: %s answers %+v, %v", name, ask, d, err)
			}
		}
		if b.taken != 0 {
			t.Errorf("%s: the backend was asked %d times", name, b.taken)
		}
	}
}

// Where nothing is known, or it does not count, the backend is asked.
func TestAskedAllTheSame(t *testing.T) {
	known := map[string]core.Judgement{"full": {RetryAfter: 1e6}}
	c := newClock()
	for name, config := range map[string]core.Config{
		"nothing is known":  {Policies: []core.Policy{{Name: "unknown", Rate: "5/m"}}},
		"explicit instants": {Policies: []core.Policy{{Name: "full", Rate: "5/m"}}, Now: c.now},
		"CountDenied":       {Policies: []core.Policy{{Name: "full", Rate: "5/m", CountDenied: true}}},
		"annotating":        {Policies: []core.Policy{{Name: "full", Rate: "5/m", Mode: core.Annotate}}},
		"a candidate":       {Policies: []core.Policy{{Name: "full", Rate: "5/m", Candidate: &core.Candidate{Rate: "1/m"}}}},
		"a shadow":          {Policies: []core.Policy{{Name: "full", Rate: "5/m"}, {Name: "other", Rate: "1/m", Mode: core.Shadow}}},
		"a reservation":     {Policies: []core.Policy{{Name: "full", Rate: "5/m", Reserve: true}}},
		"what runs":         {Policies: []core.Policy{{Name: "full", Rate: "5/m", Strategy: core.InFlight{}}}},
		"an outcome":        {Policies: []core.Policy{{Name: "full", Rate: "5/m", CountIf: core.OnStatus(401)}}},
	} {
		b := newForewarned(known)
		config.Backend = b
		l := configured(t, config)
		if v := visit(l, get("192.0.2.1")); !v.Pass {
			t.Errorf("%s: %+v", name, v)
		}
		if b.taken != 1 {
			t.Errorf("%s: asked %d times", name, b.taken)
		}
	}
	b := newForewarned(known)
	b.seeds = nil
	if v := visit(configured(t, core.Config{Backend: b, Policies: []core.Policy{{Name: "full", Rate: "5/m"}}}), get("192.0.2.1")); !v.Pass || b.taken != 1 {
		t.Errorf("a backend without a memory: %+v, asked %d times", v, b.taken)
	}
}
