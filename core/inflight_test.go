package core_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// At most so many run at once, whatever becomes of them.
func TestInFlight(t *testing.T) {
	c := newClock()
	l := limiter(t, c, core.Policy{Name: "export", Rate: "2/5m", Strategy: core.InFlight{}}, core.Policy{Name: "all", Rate: "100/d"})
	n := get("192.0.2.1")
	one, two := enter(l, n), enter(l, n)
	if v := visit(l, n); v.Pass || v.Decision.Policy != "export" || v.Decision.RetryAfter != 5*time.Minute {
		t.Errorf("%+v", v.Decision)
	}
	if d := two.Decision; !strings.Contains(fieldText(d), `"export";q=2;qu="concurrent-requests"`) {
		t.Error(fieldText(d))
	}
	one.Finish(n, 500)
	one.Leave()
	three := enter(l, n)
	if !three.Pass || enter(l, n).Pass {
		t.Error("a slot is not as free as it should be")
	}
	three.Leave() // a panic
	four := enter(l, n)
	if !four.Pass {
		t.Error("a panic keeps its slot")
	}
	c.advance(5 * time.Minute) // those that run too long are not counted any more
	if v := enter(l, n); !v.Pass {
		t.Error("slots are held for ever")
	}
	four.Finish(n, 200)
	two.Finish(n, 200)
	if v := enter(l, n); !v.Pass || enter(l, n).Pass {
		t.Error("a late end frees the slot of another")
	}
	if _, err := l.Allow(t.Context(), "export", job, 1); !errors.Is(err, core.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

// A strategy that is made of InFlight gives back what it took, too.
func TestInFlightInOtherHands(t *testing.T) {
	type mine struct{ core.InFlight }
	for _, strategy := range []core.Strategy{&core.InFlight{}, mine{}} {
		l := limiter(t, newClock(), core.Policy{Name: "export", Rate: "1/h", Strategy: strategy})
		for range 2 {
			if n := get("192.0.2.1"); !pass(l, n, 200) {
				t.Errorf("%T: a slot is held by nobody", strategy)
			}
		}
	}
}

// Who asks for a request can not tell its end.
func TestInFlightIsNotAskedForRequests(t *testing.T) {
	l := limiter(t, newClock(), core.Policy{Name: "all", Rate: "9/d", Strategy: core.MovingWindow{}},
		core.Policy{Name: "export", Rate: "1/h", Strategy: core.InFlight{}})
	n := get("192.0.2.1")
	if d, err := l.AllowRequest(n); !errors.Is(err, core.ErrUnsupported) || d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := l.PeekRequest(n); err != nil || !d.Allowed || d.Remaining != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := l.Peek(t.Context(), "all", keyOf("192.0.2.1"), 0); err != nil || d.Remaining != 9 {
		t.Errorf("something was charged: %+v, %v", d, err)
	}
}

// panicking are hooks and functions that panic where they are told to.
type panicking struct {
	core.Base
	where string
	with  any
}

func (p *panicking) at(where string) {
	if p.where == where {
		panic(p.with)
	}
}

func (p *panicking) Denied(core.Request, core.Decision)              { p.at("denied") }
func (p *panicking) RecordDenial(core.Request, core.Entry, core.Key) { p.at("record") }
func (p *panicking) Observe(e core.Event)                            { p.at(e.Kind.String()) }
func (p *panicking) status(where string) func(core.Request, int) bool {
	return func(core.Request, int) bool { p.at(where); return false }
}

// Whoever panics, and with what: what runs no longer is not in flight, the rest of
// the request is settled, and after the response nothing passes Finish, for there
// are frameworks that catch nothing.
func TestPanicsKeepNoSlot(t *testing.T) {
	for _, with := range []any{"a hook's own", http.ErrAbortHandler} {
		for _, where := range []string{"denied", "record", "decided", "refused", "countIf", "resetIf", "settled"} {
			t.Run(fmt.Sprint(where, " ", with), func(t *testing.T) {
				p := &panicking{where: where, with: with}
				l := configured(t, core.Config{Backend: memory.New(), Observer: p, Logger: slog.New(slog.DiscardHandler), Policies: []core.Policy{
					{Name: "run", Rate: "1/h", Strategy: core.InFlight{}},
					{Name: "soft", Rate: "0/s", Mode: core.Annotate, Hooks: p},
					{Name: "count", Rate: "10/d", Strategy: core.MovingWindow{}, CountIf: p.status("countIf"), ResetIf: p.status("resetIf")},
				}})
				n := get("192.0.2.1")
				for range 2 {
					entered := false
					func() {
						v := new(core.Visit)
						defer func() {
							if r := recover(); r != nil && (entered || r != http.ErrAbortHandler) {
								t.Errorf("a panic passed: %v", r)
							}
						}()
						defer v.Leave()
						l.Enter(n, 0, v)
						if entered = true; v.Pass {
							v.Finish(n, 200)
						}
					}()
				}
				d, err := l.Peek(t.Context(), "run", keyOf("192.0.2.1"), 1)
				if err != nil || !d.Allowed {
					t.Errorf("a slot is held by nobody: %+v, %v", d, err)
				}
			})
		}
	}
}
