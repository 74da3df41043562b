package memcachedlimit

import (
	"math"
	"time"
)

const (
	// slack is what items live beyond the last instant that matters, in seconds:
	// memcached counts in seconds and may be most of one early, and the clock of a
	// process that still looks at the item may be behind this one's.
	slack = 10
	// leastExplicit is the least that items with explicit instants live, as nobody
	// knows what instant their caller asks for next, in seconds.
	leastExplicit = 3600
	// longestRelative is the longest time to live that memcached does not take for
	// seconds since 1970.
	longestRelative = 30 * 86400
)

// expiry is the expiration of an item that matters for so many microseconds
// more. It only cleans up; no decision rests on it.
func expiry(rest int64, explicit bool) int32 {
	seconds := max(rest, 0)/1e6 + 1 + slack
	if explicit {
		seconds = max(seconds, leastExplicit)
	}
	if seconds <= longestRelative {
		return int32(seconds)
	}
	if seconds += time.Now().Unix(); seconds > math.MaxInt32 {
		return longestRelative // gomemcache can not say what is after January 2038
	}
	return int32(seconds)
}
