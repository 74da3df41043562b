package memcachedlimit

import (
	"sync/atomic"
	"time"
)

// A clock is that of the process: memcached has none that a client can read. It
// follows the wall clock, which the processes that share a limit have in common,
// and waits where that steps back by a little. Of a longer way back it follows
// the wall clock too, or windows would not end for as long: then this process is
// skewed against its own past, as it could be against another.
type clock struct{ last atomic.Int64 }

// hold is the step back that is waited out, in microseconds.
const hold = 1e6

func (c *clock) now() int64 {
	return c.read(time.Now().UnixMicro())
}

func (c *clock) read(wall int64) int64 {
	for {
		last := c.last.Load()
		if wall <= last && last-wall <= hold {
			return last
		}
		if c.last.CompareAndSwap(last, wall) {
			return wall
		}
	}
}
