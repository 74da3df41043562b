package memory

import "time"

// A clock reads microseconds since the Unix epoch from the monotonic clock: it
// never goes back, whatever happens to the wall clock, and it is the cheaper
// reading. Inside a synctest bubble it is the bubble's.
type clock struct {
	start time.Time
	wall  int64
}

func newClock() clock {
	t := time.Now()
	return clock{t, t.UnixMicro()}
}

func (c *clock) now() int64 { return c.wall + int64(time.Since(c.start))/1000 }

// A tick is the coarse unit of expiry, 2^20 microseconds since the clock's
// start: about a second, so that 30 bits last for 35 years.
const (
	tickBits = 20
	maxTick  = 1<<30 - 1
	// explicitTicks is the least that a cell with explicit instants is kept, in
	// real time, as nobody knows what instant its caller asks for next.
	explicitTicks = 3600e6>>tickBits + 1
)

// tick is the coarse instant of now, rounded down.
func (c *clock) tick(now int64) uint32 {
	return uint32(min(max(now-c.wall, 0)>>tickBits, maxTick))
}

// expiry is the first tick at which a state that is empty from until on has
// expired: rounded up, and at least 1, as 0 marks a free record.
func (c *clock) expiry(until int64) uint32 {
	return uint32(min(max(until-c.wall, 0)>>tickBits+1, maxTick))
}

// explicitExpiry is the same for a cell at an explicit instant.
func (c *clock) explicitExpiry(until, at int64, tick uint32) uint32 {
	rest := max((until-at)>>tickBits+1, explicitTicks)
	return uint32(min(int64(tick)+rest, maxTick))
}
