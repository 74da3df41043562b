// Package backendtest is the contract of core.Backend as a test suite. Every
// backend runs it, those of strangers too:
//
//	func TestContract(t *testing.T) {
//		backendtest.Run(t, func(t *testing.T) core.Backend { return open(t) })
//	}
//
// Model is the same contract as the simplest program that keeps it. The suite
// compares a backend with it verdict by verdict, in the named checks as well as
// in random timelines. A random timeline that fails is shortened and printed
// with its seed; STINT_SEED=<seed> runs it first next time. STINT_LONG=1 runs
// many more of them.
//
// Every check counts under names of its own, random per process, and resets its
// cells at the end, so a shared server may stand behind the backend.
package backendtest

import (
	"testing"

	"github.com/stint-go/stint/core"
)

// Options declare what a backend can not promise by its nature. The zero value
// demands the whole contract. What is declared is logged by name.
type Options struct {
	// NoGrowing: rules whose state grows (Rule.Words 0) are refused with
	// core.ErrUnsupported, at nobody's cost. The suite insists on the refusal.
	NoGrowing bool
	// Provisional: a decision of several cells, or of a cost above 1, may charge
	// first and take back on a refusal, so that another decision in flight is
	// refused although it would have fitted, and a cell's clock may have moved
	// without a charge that stays. Everything else stands: never more is admitted
	// than the limit, costs of 1 on one cell are admitted exactly, and once all
	// calls have returned every cell holds what was admitted; or more, where the
	// strategy gives back less when refunds come in another order or after a
	// change of the limit (GCRA).
	Provisional bool
	// Slow shortens the loops, for a backend behind a network. No check is left
	// out.
	Slow bool
}

// Run runs the whole contract with the zero Options. open returns the backend
// for one check; it may be the same one every time. It registers its clean-up
// with the t it gets, which is the check's own.
//
// A backend that is a core.SingleTaker is held to its Take by its TakeOne, one
// that is a core.Refuser by what it refuses itself.
func Run(t *testing.T, open func(t *testing.T) core.Backend) {
	t.Helper()
	Options{}.Run(t, open)
}

// Run is the function Run for a backend with declared lacks.
func (o Options) Run(t *testing.T, open func(t *testing.T) core.Backend) {
	t.Helper()
	for _, lack := range []struct {
		declared bool
		name     string
	}{
		{o.NoGrowing, "NoGrowing: rules that grow are refused"},
		{o.Provisional, "Provisional: decisions in flight may refuse one another"},
	} {
		if lack.declared {
			t.Log("declared by the backend:", lack.name)
		}
	}
	o.run(t, open)
}

func (o Options) run(t *testing.T, open func(t *testing.T) core.Backend) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if c.once != nil {
				c.once(newSuite(t, open(t), o))
				return
			}
			for _, st := range strategies {
				t.Run(st.name, func(t *testing.T) { c.each(newSuite(t, open(t), o), st) })
			}
		})
	}
}

// A check is one clause of the contract, named by the behaviour. It runs once
// or with each strategy.
type check struct {
	name string
	once func(*suite)
	each func(*suite, strategy)
}

var checks = []check{
	{name: "random timelines agree with the model", once: randomTimelines},
	{name: "TakeOne is Take", each: takeOneIsTake},
	{name: "what is refused from memory Take would refuse", each: refusedFromMemory},
	{name: "contention on one cell admits exactly the limit", each: contentionOneCell},
	{name: "contention by the own clock admits exactly the limit", each: contentionOwnClock},
	{name: "contention on several cells is all or nothing", each: contentionManyCells},
	{name: "contention of mixed decisions loses no charge", each: contentionMixed},
	{name: "contention with refunds never admits more", each: contentionRefunds},
	{name: "hard asks are all or nothing", each: allOrNothing},
	{name: "soft asks follow their own verdict", each: softAndHard},
	{name: "every When charges as it says", each: everyWhen},
	{name: "decisions of one Take are made in order", each: groupsInOrder},
	{name: "a peek changes nothing", each: peekChangesNothing},
	{name: "a refusal changes nothing", each: refusalChangesNothing},
	{name: "verdicts describe the cell after the step", each: figuresAfterTheStep},
	{name: "a cost above the quota waits for ever", each: costAboveQuota},
	{name: "refunds go by receipt", each: refundsByReceipt},
	{name: "debt goes beyond full and creates the cell", each: debt},
	{name: "corrections are made in order", once: settleInOrder},
	{name: "an expired cell starts again", each: expiryAndReuse},
	{name: "a reset empties the cells it names and no others", each: resetEmpties},
	{name: "a changed limit keeps what is consumed", each: changedLimit},
	{name: "a strategy that no backend has heard of works", once: strangersStrategy},
	{name: "cells are kept apart", once: cellsApart},
	{name: "spaces of equal content are the same cells", once: equalSpaces},
	{name: "no key's memory is kept", once: keyMemory},
	{name: "no ask is kept or changed", once: askMemory},
	{name: "windows of many keys end spread out", once: phasesSpread},
	{name: "an injected phase is honoured", once: phaseInjected},
	{name: "explicit instants ignore the wall clock", each: explicitInstants},
	{name: "instants are each cell's own", each: instantsApart},
	{name: "the own clock is plausible and never goes back", once: ownClock},
	{name: "a cancelled context costs nothing", each: cancelledContext},
	{name: "bad input is an error and costs nothing", once: badInput},
	{name: "rules that grow are refused where that is declared", once: growingRefused},
}
