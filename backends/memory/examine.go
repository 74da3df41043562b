package memory

import (
	"context"
	"fmt"

	"github.com/stint-go/stint/core"
)

// The codes of findings: see core.Finding.
const (
	codeTooSmall = "memory-too-small"
	codeFull     = "memory-full"
)

// fewKeys is how many clients a backend should have room for, if all were at
// their limit.
const fewKeys = 1000

var _ core.Examiner = (*Backend)(nil)

// Examine implements core.Examiner: it looks whether the caps of Options hold what
// the policies need, and whether cells have been forgotten.
func (b *Backend) Examine(_ context.Context, uses []core.Use) (found []core.Finding, err error) {
	need := int64(0) // bytes of one client under all policies
	for _, u := range uses {
		need += cellBytes(u.Rule)
	}
	if n := int64(len(uses)); n > 0 {
		keys := min(b.shared.maxCells/n, b.shared.pool.max/need)
		if keys < fewKeys {
			found = append(found, core.Finding{Code: codeTooSmall,
				Reason: fmt.Sprintf("its caps of %d cells and %d bytes have room for %d clients that are at their limits: beyond that, clients are forgotten early or share a counter",
					b.shared.maxCells, b.shared.pool.max, keys),
				Remedy: "Raise memory.Options, or use a strategy with a smaller state than MovingWindow"})
		}
	}
	if s := b.Stats(); s.Evicted > 0 || s.Overflowed > 0 {
		found = append(found, core.Finding{Code: codeFull,
			Reason: fmt.Sprintf("it is or was full: %d cells were forgotten before their time, %d decisions were made on a counter that clients shared", s.Evicted, s.Overflowed),
			Remedy: "Raise memory.Options; where one attacker makes up the clients, count by what can not be made up"})
	}
	return found, nil
}

// cellBytes is about what the rule keeps of a client that is at its limit: see
// Options.
func cellBytes(r core.Rule) int64 {
	if words := r.Words(); words > 0 {
		return 31 + 8*int64(words)
	}
	units, _ := r.Quota()
	return 31 + 16*units
}
