package replay

import (
	"errors"

	"github.com/stint-go/stint/policyfile"
)

// The rules want instants above 0, and traces begin at 0. So instants are moved by
// a common multiple of all windows of a lane: then windows that are aligned to the
// clock, or staggered, begin where they would without, and all other arithmetic
// knows differences only.

const mostShift = 1 << 51 // µs: with trace.Latest it stays below 2^53

func shiftOf(f *policyfile.File) (int64, error) {
	shift := int64(1e6)
	for _, p := range f.Policies {
		all := p.Rates
		for _, o := range p.Overrides {
			all = append(all[:len(all):len(all)], o.Rates...)
		}
		for _, r := range all {
			w := max(r.Window.Microseconds(), 1)
			if shift = shift / divisor(shift, w) * w; shift > mostShift || shift <= 0 {
				return 0, errors.New("the windows of these policies have no common multiple below 71 years, by which to move a trace's instants: use rounder ones")
			}
		}
	}
	return shift, nil
}

// divisor is the greatest common one.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
