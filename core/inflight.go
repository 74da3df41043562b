package core

// InFlight limits how many requests of an identity run at once: a Rate of "10/5m"
// is ten at most. A request takes its units when it comes in and gives them back
// when it ends, however that is; the window is the longest that one may run, as
// what it took is free again after that: so a process that dies holds nothing for
// ever. What runs longer runs uncounted from then on.
//
// It serves the requests that a middleware lets through, and Limiter.Reserve; a
// policy that counts so can not be asked by Allow, where nobody would tell the end.
//
// A refused request can be admitted as soon as one of the others ends, which
// nobody can foretell: RetryAfter is the latest instant, not the promise that it
// is elsewhere.
//
// It is MovingWindow's arithmetic, and so its limits, bound and cost: at most N
// units at any instant, for requests that end within the window.
type InFlight struct {
	// Max is as in MovingWindow.
	Max int64
}

const inFlightShape = "in-flight"

// Name implements Strategy: backends that run a translation run MovingWindow's.
func (InFlight) Name() string { return movingName }

// Bind implements Strategy.
func (f InFlight) Bind(rate Rate) (Rule, error) {
	rule, err := MovingWindow(f).Bind(rate)
	if err != nil {
		return nil, err
	}
	rule.(*movingRule).shape = inFlightShape
	return rule, nil
}

// countsWhatRuns reports whether the strategy is InFlight.
func countsWhatRuns(s Strategy) bool {
	switch s.(type) {
	case InFlight, *InFlight:
		return true
	}
	return false
}

// isInFlight reports whether the rule counts what runs.
func isInFlight(r Rule) bool { return r.Shape() == inFlightShape }

// inFlightUnit is its unit in RateLimit-Policy, which has no window then.
const inFlightUnit = `;qu="concurrent-requests"`
