package backendtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stint-go/stint/core"
)

// A history is a timeline of explicit instants that a backend and the model go
// through together. Every verdict of the backend has to be the model's.
type history struct {
	*suite
	model *Model
	start int64             // instants of the history are counted from here
	names map[string]string // of cells, by the model's name
	lines []string
}

func (s *suite) history() *history {
	return &history{suite: s, model: new(Model), start: epoch, names: map[string]string{}}
}

// A charge is an ask, its verdict, and the receipts to settle it by.
type charge struct {
	core.Verdict
	ask   core.Ask
	model core.Receipt
}

// take asks at an instant after the start. want has one letter per ask:
//
//   - OK and charged    o OK, not charged
//     x refused, charged  - refused, not charged
func (h *history) take(after int64, want string, asks ...core.Ask) []charge {
	h.Helper()
	out, err := h.step(after, asks...)
	if err != nil {
		h.fail(err)
	}
	var came strings.Builder
	for _, c := range out {
		came.WriteByte(letter(c.Verdict))
	}
	if came.String() != want {
		h.fail(fmt.Errorf("the contract says %q, what came is %q", want, came.String()))
	}
	return out
}

// follow is take where the model alone says what is right.
func (h *history) follow(after int64, asks ...core.Ask) []charge {
	h.Helper()
	out, err := h.step(after, asks...)
	if err != nil {
		h.fail(err)
	}
	return out
}

// settle corrects charges by their own receipts.
func (h *history) settle(after int64, delta int64, cs ...charge) {
	h.Helper()
	deltas := make([]int64, len(cs))
	for i := range deltas {
		deltas[i] = delta
	}
	if err := h.correct(after, deltas, cs...); err != nil {
		h.fail(err)
	}
}

// reset empties cells.
func (h *history) reset(cells ...core.Cell) {
	h.Helper()
	if err := h.empty(cells...); err != nil {
		h.fail(err)
	}
}

func (h *history) fail(err error) {
	h.Helper()
	h.Fatalf("%v\nhistory, instants in microseconds after %d:\n%s", err, h.start, strings.Join(h.lines, "\n"))
}

func (h *history) step(after int64, asks ...core.Ask) ([]charge, error) {
	want := make([]core.Verdict, len(asks))
	if _, err := h.model.Take(context.Background(), h.start+after, asks, want); err != nil {
		return nil, fmt.Errorf("a broken check: %w", err)
	}
	got, now, err := h.try(h.start+after, asks...)
	if err != nil {
		h.log(after, "Take: %v", err)
		return nil, err
	}
	if now != h.start+after {
		return nil, fmt.Errorf("Take at %d returned the instant %d", h.start+after, now)
	}
	out := make([]charge, len(asks))
	differs := false
	for i, a := range asks {
		out[i] = charge{got[i], a, want[i].Receipt}
		h.log(after, "take %s: %s", h.describe(a), verdict(got[i]))
		if !agree(a, got[i], want[i]) {
			h.lines = append(h.lines, "      expected "+verdict(want[i]))
			differs = true
		}
	}
	if differs {
		return nil, errors.New("a verdict differs from the model's")
	}
	return out, nil
}

func (h *history) correct(after int64, deltas []int64, cs ...charge) error {
	asks := make([]core.Ask, len(cs))
	got, want := make([]core.Receipt, len(cs)), make([]core.Receipt, len(cs))
	for i, c := range cs {
		asks[i], got[i], want[i] = c.ask, c.Receipt, c.model
		h.log(after, "settle %s: %+d", h.describe(c.ask), deltas[i])
	}
	if err := h.model.Settle(context.Background(), h.start+after, asks, want, deltas); err != nil {
		return fmt.Errorf("a broken check: %w", err)
	}
	if err := h.backend.Settle(context.Background(), h.start+after, asks, got, deltas); err != nil {
		return fmt.Errorf("Settle: %w", err)
	}
	return nil
}

func (h *history) empty(cells ...core.Cell) error {
	for _, c := range cells {
		h.lines = append(h.lines, "            reset "+h.nameOf(c))
	}
	h.model.Reset(context.Background(), cells...)
	if err := h.backend.Reset(context.Background(), cells...); err != nil {
		return fmt.Errorf("Reset: %w", err)
	}
	return nil
}

// agree compares verdicts. Charging cost 0 writes nothing, so nothing is said of
// it; receipts are the backend's own, but for there being one.
func agree(a core.Ask, got, want core.Verdict) bool {
	if a.Cost > 0 && (got.Charged != want.Charged || (got.Receipt == core.Receipt{}) != (want.Receipt == core.Receipt{})) {
		return false
	}
	return got.Err == nil && got.OK == want.OK && got.Remaining == want.Remaining &&
		got.RetryAfter == want.RetryAfter && got.NextAfter == want.NextAfter && got.ResetAfter == want.ResetAfter
}

func letter(v core.Verdict) byte {
	switch {
	case v.OK && v.Charged:
		return '+'
	case v.OK:
		return 'o'
	case v.Charged:
		return 'x'
	}
	return '-'
}

func (h *history) log(after int64, format string, args ...any) {
	h.lines = append(h.lines, fmt.Sprintf("%+12d ", after)+fmt.Sprintf(format, args...))
}

// nameOf gives the cells of a history letters.
func (h *history) nameOf(c core.Cell) string {
	id := name(c)
	if h.names[id] == "" {
		h.names[id] = fmt.Sprintf("c%d", len(h.names)+1)
	}
	return h.names[id]
}

func (h *history) describe(a core.Ask) string {
	units, window := a.Rule.Quota()
	text := fmt.Sprintf("%s (%s %d/%dµs) cost %d", h.nameOf(a.Cell), a.Rule.Shape(), units, window, a.Cost)
	if a.When != core.OnAdmit {
		text += [...]string{"", " OnRefuse", " Always", " Never"}[a.When]
	}
	if a.Soft {
		text += " soft"
	}
	if a.Group != 0 {
		text += fmt.Sprintf(" group %d", a.Group)
	}
	return text
}

func verdict(v core.Verdict) string {
	return fmt.Sprintf("%c remaining %d retry %s next %s reset %s receipt %v err %v", letter(v),
		v.Remaining, wait(v.RetryAfter), wait(v.NextAfter), wait(v.ResetAfter), v.Receipt != core.Receipt{}, v.Err)
}

func wait(d int64) string {
	if d == core.Forever {
		return "never"
	}
	return fmt.Sprint(d)
}
