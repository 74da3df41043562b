package replay

// A Series counts over time, in at most SeriesLength steps: where time goes on
// beyond them, steps are joined two by two. The zero value is ready to use.
type Series struct {
	Start, Step      int64 // microseconds
	Allowed, Refused []int64
}

// SeriesLength is the most steps.
const SeriesLength = 240

const firstStep = 1000 // µs

// Add counts one request at an instant. One before the first counts with it.
func (s *Series) Add(at int64, allowed bool) {
	if s.Step == 0 {
		s.Start, s.Step = at-at%1e6, firstStep
	}
	i := max(at-s.Start, 0) / s.Step
	for ; i >= SeriesLength; i = max(at-s.Start, 0) / s.Step {
		s.double()
	}
	for int(i) >= len(s.Allowed) {
		s.Allowed, s.Refused = append(s.Allowed, 0), append(s.Refused, 0)
	}
	if allowed {
		s.Allowed[i]++
	} else {
		s.Refused[i]++
	}
}

func (s *Series) double() {
	s.Step *= 2
	s.Allowed, s.Refused = joined(s.Allowed), joined(s.Refused)
}

func joined(n []int64) []int64 {
	half := n[:0]
	for i := 0; i < len(n); i += 2 {
		sum := n[i]
		if i+1 < len(n) {
			sum += n[i+1]
		}
		half = append(half, sum)
	}
	return half
}
