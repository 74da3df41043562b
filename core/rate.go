package core

import "time"

// A Rate is a limit of units per window. The zero Rate refuses everything.
type Rate struct {
	// Limit is the number of units admitted per window; 0 refuses everything.
	Limit int64
	// Window is the length of the window: at least a millisecond, whole
	// microseconds, at most 366 days.
	Window time.Duration
	// Precision is the length of a sub-window, for BucketedWindow only; 0
	// leaves it to the strategy.
	Precision time.Duration
}
