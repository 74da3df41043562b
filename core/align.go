package core

// An Align says where the windows of a strategy begin. It is part of Rule.Shape.
type Align uint8

const (
	// Staggered shifts each cell's windows by the cell's own phase, so that the
	// windows of many cells do not all end at once.
	Staggered Align = iota
	// Clock begins windows at multiples of their length since the Unix epoch:
	// full minutes, full hours and days of UTC. All cells are reset together.
	Clock
	// FirstHit begins a window at the first charge after the last one ended.
	FirstHit
)

// String is the alignment's name as it stands in Rule.Shape.
func (a Align) String() string {
	switch a {
	case Staggered:
		return "staggered"
	case Clock:
		return "clock"
	case FirstHit:
		return "first"
	}
	return "unknown"
}

// end is the end of the window of that length which now lies in.
func (a Align) end(now, phase, length int64) int64 {
	switch a {
	case FirstHit:
		return now + length
	case Clock:
		phase = 0
	}
	return now + length - mod(now-phase, length)
}
