package core

import (
	"context"
	"errors"
	"hash/maphash"
)

// The kinds of error a backend answers, to be tested with errors.Is.
var (
	// ErrUnavailable: the store did not answer, or not in time. Whether the
	// charge took place is unknown. It is what OnFailure of a policy is about;
	// NewUnavailable makes one of a Class.
	ErrUnavailable = errors.New("backend unavailable")
	// ErrProtocol: the store answered something that this library did not
	// write. Nothing was deleted or overwritten.
	ErrProtocol = errors.New("unexpected state in the backend")
	// ErrUnsupported: the backend can not do this, by its nature.
	ErrUnsupported = errors.New("not supported by the backend")
)

// An Ask is one question to a backend: may this cost be charged to this cell?
type Ask struct {
	Cell Cell
	Rule Rule
	Cost int64 // units, >= 0
	When When
	// Soft asks are judged in the same step as the others, but neither veto
	// the decision nor are vetoed by it (annotate, shadow).
	Soft bool
	// Group tells the decisions of one Take apart: neighbours with equal Group
	// are one decision. Zero everywhere is one decision of all asks.
	Group int32
}

// A Backend keeps cells and applies rules to them atomically. It must be safe
// for concurrent use, and must never keep a string of a Key past the call: some
// frameworks reuse the memory behind it. Run core/backendtest on every
// implementation; it is this contract as code.
type Backend interface {
	// Take decides all asks in one atomic step with one reading of one clock
	// and writes one verdict per ask to out, which has the length of asks.
	//
	// Asks with the same Group are one decision: hard asks are all or nothing.
	// The decision is admitted when every hard ask of it is OK; an ask is then
	// charged as its When says. A soft ask follows its own verdict alone. The
	// cells of one decision are distinct. Several decisions in one Take are
	// decided in order, each seeing the charges of those before it.
	//
	// Each verdict describes its cell after the step: the figures of an ask
	// that was charged include its charge, those of all others do not. Where an
	// ask was OK in a refused decision, its verdict says OK and not Charged. An
	// ask that was charged although it was refused carries no receipt.
	//
	// at is the instant of the decision in microseconds since the Unix epoch,
	// or 0 for the backend's own clock; the instant used is returned. Explicit
	// instants serve tests and replay: a cell must never be used with both.
	//
	// An error means that something broke, never that a limit was reached: err
	// when nothing at all was decided, Verdict.Err for a single ask. A hard ask
	// with an error refuses its decision, so that nothing of it is charged. Where
	// cells live apart and some can not be reached (ErrUnavailable), a backend may
	// instead decide and charge the other asks without them: whoever asks gives
	// that back (Settle) where it is not to stand. out may say why in detail
	// beside err. A ctx that is done before the call costs nothing and is an error.
	Take(ctx context.Context, at int64, asks []Ask, out []Verdict) (now int64, err error)
	// Settle corrects earlier charges in one step, in order: Rule.Settle with
	// rs[i] and delta[i] on the cell of asks[i]. A cell that no longer exists is
	// not refunded; debt creates it.
	Settle(ctx context.Context, at int64, asks []Ask, rs []Receipt, delta []int64) error
	// Reset empties cells, whichever clock they were used with.
	Reset(ctx context.Context, cells ...Cell) error
}

// A SingleTaker is a Backend inside the process that has a shorter way for the
// commonest case: a decision of one hard ask that will not be settled later.
// TakeOne does what Take does, waits for nothing, and so takes no context. All
// that goes in and out fits the registers: on this way, moving structs through
// memory costs more than deciding. The Limiter looks for it once.
type SingleTaker interface {
	// Seeds are those of the prints that TakeOne takes. They never change.
	Seeds() *[2]maphash.Seed
	// TakeOne decides one ask; key is the print of its key under Seeds. The space
	// has no phase function of its own (Space.OwnPhase).
	TakeOne(at int64, space *Space, rule Rule, key Print, cost int64, when When) (Taken, Figures, error)
}

// An Admitter is a SingleTaker with a shorter way still, for a Gate, which wants
// to know nothing but yes or no. The Gate looks for it once.
type Admitter interface {
	SingleTaker
	// Admit decides as TakeOne does by the backend's own clock with OnAdmit, for
	// cost > 0. It may decline whatever is out of the ordinary: done is false then,
	// nothing has happened, and the caller takes the long way.
	Admit(space *Space, rule Rule, key Print, cost int64) (ok, done bool)
}

// An Outcome is a Verdict without its receipt: the Judgement, whether it was
// Charged, and the instant of the decision, Now.
type Outcome struct {
	Judgement
	Charged bool
	Now     int64
}

// Taken and Figures are an Outcome in two parts, as the compiler keeps a struct of
// more than four fields in memory.
type Taken struct {
	// OK and Charged are as in Verdict.
	OK, Charged bool
	// Now is the instant of the decision, in microseconds since the Unix epoch.
	Now int64
}

// Figures are those of a Judgement.
type Figures struct {
	// Remaining are units; the others are durations in microseconds.
	Remaining, RetryAfter, NextAfter, ResetAfter int64
}
