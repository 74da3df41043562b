package backendtest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/stint-go/stint/core"
)

// Model is a Backend that is correct before all else: one map under one lock,
// nothing expires. It is what backends are compared with, and fit for tests of
// what stands on a Backend. It grows without bound: never use it in production.
// The zero Model is ready and safe for concurrent use.
type Model struct {
	mu    sync.Mutex
	cells map[string]core.State
	last  int64 // of the own clock
}

var _ core.Backend = (*Model)(nil)

var errInput = errors.New("backendtest: model: bad input")

// Take implements core.Backend.
func (m *Model) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if len(asks) == 0 || len(out) != len(asks) || !valid(asks) {
		return 0, errInput
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now(at)
	for first, i := 0, 1; i <= len(asks); i++ {
		if i == len(asks) || asks[i].Group != asks[first].Group {
			m.decide(now, asks[first:i], out[first:i])
			first = i
		}
	}
	return now, nil
}

// decide is one decision: all asks are judged before any is charged.
func (m *Model) decide(now int64, asks []core.Ask, out []core.Verdict) {
	admitted := true
	for i, a := range asks {
		state, phase := m.load(a)
		out[i] = core.Verdict{Judgement: a.Rule.Decide(state, now, phase, a.Cost)}
		if !a.Soft && !out[i].OK {
			admitted = false
		}
	}
	for i, a := range asks {
		if a.Soft {
			m.conclude(now, a, out[i].OK, &out[i])
		} else {
			m.conclude(now, a, admitted, &out[i])
		}
	}
}

// conclude charges one ask, or not, and makes its verdict describe the cell
// after that. admitted is the decision's for a hard ask, its own for a soft one.
func (m *Model) conclude(now int64, a core.Ask, admitted bool, v *core.Verdict) {
	state, phase := m.load(a)
	switch a.When {
	case core.OnAdmit:
		v.Charged = admitted
	case core.OnRefuse:
		v.Charged = !admitted
	case core.Always:
		v.Charged = true
	}
	if v.Charged {
		next, receipt := a.Rule.Charge(state, now, phase, a.Cost)
		m.store(a, next)
		if admitted {
			v.Receipt = receipt
		}
	}
	switch {
	case v.OK && !v.Charged: // Decide foretold a charge that was not made
		v.Judgement = a.Rule.Decide(state, now, phase, 0)
		v.OK, v.RetryAfter = true, 0
	case !v.OK && v.Charged: // the promise to come again counts from here
		state, _ = m.load(a)
		v.Judgement = a.Rule.Decide(state, now, phase, a.Cost)
	}
}

// Settle implements core.Backend.
func (m *Model) Settle(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(rs) != len(asks) || len(delta) != len(asks) || !valid(asks) {
		return errInput
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now(at)
	for i, a := range asks {
		if _, lives := m.cells[name(a.Cell)]; lives || delta[i] > 0 {
			state, phase := m.load(a)
			m.store(a, a.Rule.Settle(state, now, phase, rs[i], delta[i]))
		}
	}
	return nil
}

// Reset implements core.Backend.
func (m *Model) Reset(ctx context.Context, cells ...core.Cell) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range cells {
		delete(m.cells, name(c))
	}
	return nil
}

func valid(asks []core.Ask) bool {
	for _, a := range asks {
		if a.Rule == nil || a.Cell.Space == nil || a.Cost < 0 {
			return false
		}
	}
	return true
}

func (m *Model) now(at int64) int64 {
	if at == 0 {
		m.last = max(m.last, time.Now().UnixMicro())
		return m.last
	}
	return at
}

// load is a copy of the cell's state, and its phase.
func (m *Model) load(a core.Ask) (core.State, int64) {
	id := name(a.Cell)
	state := make(core.State, a.Rule.Words())
	if s, ok := m.cells[id]; ok {
		state = append(core.State(nil), s...)
	} else if a.Rule.Words() == 0 {
		state = nil
	}
	sum := sha256.Sum256([]byte(id))
	return state, a.Cell.Phase(binary.BigEndian.Uint64(sum[:]))
}

func (m *Model) store(a core.Ask, s core.State) {
	if m.cells == nil {
		m.cells = make(map[string]core.State)
	}
	m.cells[name(a.Cell)] = s
}

// name is everything that tells a cell from another, in fresh memory.
func name(c core.Cell) string {
	var b []byte
	for _, part := range []string{c.Space.Policy(), c.Space.Shape()} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	b = binary.AppendVarint(b, c.Space.Window())
	return string(c.Key.Append(b))
}
