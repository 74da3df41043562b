package core_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func gate(t *testing.T, l *core.Limiter, policy string) *core.Gate {
	t.Helper()
	g, err := l.Gate(policy, "tenant")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// onlyBackend hides the short ways of a backend.
type onlyBackend struct{ core.Backend }

// A Gate and Allow count in the same cells, whichever way the Gate takes.
func TestGateIsAllow(t *testing.T) {
	for name, c := range map[string]core.Config{
		"short":         {Policies: []core.Policy{{Name: "p", Rate: "5/h", Strategy: core.GCRA{}}}},
		"default":       {Policies: []core.Policy{{Name: "p", Rate: "5/h"}}},
		"second policy": {Policies: []core.Policy{{Name: "other", Rate: "1/h"}, {Name: "p", Rate: "5/h"}}},
		"two rates":     {Policies: []core.Policy{{Name: "p", Rate: "5/h; 50/d"}}},
		"log":           {Policies: []core.Policy{{Name: "p", Rate: "5/h", Strategy: core.MovingWindow{}}}},
		"own clock":     {Policies: []core.Policy{{Name: "p", Rate: "5/h"}}, Now: newClock().now},
		"long":          {Policies: []core.Policy{{Name: "p", Rate: "5/h"}}, Backend: onlyBackend{memory.New()}},
		"by function": {Policies: []core.Policy{{Name: "p", RateFunc: func(string, core.Request) (core.Rates, error) {
			return core.ParseRates("5/h")
		}}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := configured(t, c)
			g, ctx := gate(t, l, "p"), t.Context()
			for i, value := range []string{"a", "alice", "alice@example.org, the second of that name", ""} {
				for n := range 6 {
					var ok bool
					var err error
					if n%2 == 0 {
						ok, err = g.Admit(ctx, value, 1)
					} else {
						var d core.Decision
						d, err = l.Allow(ctx, "p", core.NewKey("tenant", value), 1)
						ok = d.Allowed
					}
					if err != nil || ok != (n < 5) {
						t.Fatalf("value %d, unit %d: %v, %v", i, n+1, ok, err)
					}
				}
				if ok, err := g.Admit(ctx, value, 6); ok || err != nil {
					t.Errorf("more than the capacity: %v, %v", ok, err)
				}
				if ok, err := g.Admit(ctx, value, 0); !ok || err != nil {
					t.Errorf("a look: %v, %v", ok, err)
				}
				if err := l.Reset(ctx, "p", core.NewKey("tenant", value)); err != nil {
					t.Fatal(err)
				}
				if ok, err := g.Admit(ctx, value, 5); !ok || err != nil {
					t.Errorf("after a reset: %v, %v", ok, err)
				}
			}
		})
	}
}

func TestGateKeepsThePolicysMode(t *testing.T) {
	l := configured(t, core.Config{Policies: []core.Policy{
		{Name: "annotate", Rate: "1/h", Mode: core.Annotate},
		{Name: "denied", Rate: "2/h", CountDenied: true, Strategy: core.GCRA{}},
	}})
	for range 3 {
		if ok, err := gate(t, l, "annotate").Admit(t.Context(), "a", 1); !ok || err != nil {
			t.Errorf("an annotating policy refused: %v, %v", ok, err)
		}
	}
	if ok, err := gate(t, l, "denied").Admit(t.Context(), "a", 3); ok || err != nil {
		t.Errorf("3 of 2: %v, %v", ok, err)
	}
	if d, _ := l.Peek(t.Context(), "denied", core.NewKey("tenant", "a"), 0); d.Remaining != 0 {
		t.Errorf("a refusal was not charged: %d remain", d.Remaining)
	}
	off := configured(t, core.Config{Disabled: true, Policies: []core.Policy{{Name: "p", Rate: "0/s"}}})
	if ok, err := gate(t, off, "p").Admit(t.Context(), "a", 1); !ok || err != nil {
		t.Errorf("disabled: %v, %v", ok, err)
	}
}

func TestGateErrors(t *testing.T) {
	l := configured(t, core.Config{Policies: []core.Policy{{Name: "p", Rate: "1/h"}}})
	if g, err := l.Gate("q", "tenant"); g != nil || err == nil {
		t.Errorf("an unknown policy: %v, %v", g, err)
	}
	g := gate(t, l, "p")
	if ok, err := g.Admit(t.Context(), "a", -1); ok || err == nil {
		t.Errorf("a negative cost: %v, %v", ok, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if ok, err := g.Admit(ctx, "a", 1); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v, %v", ok, err)
	}
	if ok, err := g.Admit(t.Context(), "a", 1); !ok || err != nil {
		t.Errorf("what was an error was charged: %v, %v", ok, err)
	}
}

func TestGateDoesNotAllocate(t *testing.T) {
	for name, s := range map[string]core.Strategy{"gcra": core.GCRA{}, "sliding": core.SlidingWindow{}, "fixed": core.FixedWindow{}} {
		g := gate(t, configured(t, core.Config{Policies: []core.Policy{{Name: "p", Rate: "50/h", Strategy: s}}}), "p")
		if n := testing.AllocsPerRun(100, func() { g.Admit(context.Background(), "alice", 1) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
