// Package memcachedlimit keeps the cells of a rate limiter in memcached, for
// applications on more than one machine that run memcached already.
//
// FixedWindow (staggered or aligned), SlidingWindow and BucketedWindow are
// counters, one item per window or sub-window with its number in the key, and
// are charged by memcached's atomic incr: the value that incr returns is what
// the decision is made of, so that no two requests can take the same unit. A
// charge that turns out to be too much is taken back from the same counter. All
// other strategies, yours included, are one item per cell and are charged by
// compare-and-swap.
//
// memcached has no clock that clients can read, so that of the process decides:
// processes that share limits need clocks that agree. It forgets what it has no
// room for, and everything when it restarts. The README says what both mean for
// a limit, and how exact each strategy is.
package memcachedlimit
