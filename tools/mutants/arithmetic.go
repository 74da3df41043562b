package main

// arithmetic: of the strategies, and what is told to clients.
var arithmetic = []mutant{
	{
		name: "previous-window-forgotten", from: "limits on memcached", what: "min(0, …) takes nothing of the window before",
		file: "core/sliding.go", old: "if p.prev == 0 {", new: "if p.prev >= 0 {",
		pkg: "core", run: "^TestSlidingWindowTimelines$|^TestVerdictsAreExact$", short: true,
	}, {
		name: "interval-truncated", from: "throttled", what: "the interval W/N is cut to whole units of time",
		file: "core/gcra.go", old: "	r.unit, r.full = r.spanOf(1), r.spanOf(r.burst)\n", new: "	r.unit = span{q: r.spanOf(1).q}\n	r.full = span{q: r.unit.q * r.burst}\n",
		pkg: "core", run: "^TestVerdictsAreExact$",
	}, {
		name: "cost-overflows", from: "throttled", what: "cost times interval leaves 64 bits",
		file: "core/gcra.go", old: "	hi, lo := bits.Mul64(uint64(units), uint64(r.window))\n", new: "	hi, lo := uint64(0), uint64(units)*uint64(r.window)\n",
		pkg: "core", run: "^TestVerdictsAreExact$|^TestGCRAArithmetic$",
	}, {
		name: "clock-opens-window", from: "limiters that trust the wall clock", what: "a clock that goes back opens another window",
		file: "core/fixed.go", old: "	if now < s[0] {\n		return s[0], s[1]\n", new: "	if now < s[0] && now >= s[0]-r.window {\n		return s[0], s[1]\n",
		pkg: "internal/matrix", run: "^TestAttack_D1$",
	}, {
		name: "hit-moves-window", from: "naive EXPIRE on every hit", what: "every admitted request moves the end of the window",
		file: "core/fixed.go", old: "	s[0], s[1] = end, used+n\n	if n < cost {", new: "	s[0], s[1] = max(end, now+r.window), used+n\n	if n < cost {",
		pkg: "core", run: "^TestFixedWindowTimelines$|^TestVerdictsAreExact$",
	}, {
		name: "window-closed-at-both-ends", from: "sorted sets trimmed by the wrong inequality", what: "a charge exactly W old still counts",
		file: "core/moving.go", old: "log.stamp(first) <= at-r.window; first++", new: "log.stamp(first) < at-r.window; first++",
		pkg: "core", run: "^TestMovingWindowTimelines$|^TestVerdictsAreExact$",
	}, {
		name: "one-member-per-instant", from: "ZADD now now", what: "requests of one instant are one entry of one unit",
		file: "core/ring.go", old: "		*g.unitsAt(g.n - 1) += units\n", new: "		g.units -= units\n",
		pkg: "core", run: "^TestBoundsHold$|^TestVerdictsAreExact$", short: true,
	}, {
		name: "one-bucket-short", from: "bucket counters that sum one too few", what: "the oldest sub-window no longer counts",
		file: "core/buckets.go", old: "	base.shape = kind +", new: "	counters = max(1, counters-1)\n	base.shape = kind +",
		pkg: "core", run: "^TestBoundsHold$|^TestVerdictsAreExact$",
	}, {
		name: "refund-of-the-next-window", from: "fiber v2, express", what: "a late refund is taken out of the window of now",
		file: "core/fixed.go", old: "if delta == 0 || rc.A == 0 || rc.A != s[0] {", new: "if delta == 0 || rc.A == 0 {",
		pkg: "core", run: "^TestRefundsNeverAdmitMore$|^TestRefundOfThePastIsDropped$", short: true,
	}, {
		name: "refund-forgets-refunds", from: "refunds by instant", what: "a refund does not look at those before it",
		file: "core/gcra.go", old: "	end.q -= refunded\n", new: "",
		pkg: "core", run: "^TestRefund|^TestGCRA",
	}, {
		name: "remaining-below-zero", from: "httprate, gin-rate-limit, envoy", what: "a limit lowered below what is used gives a negative rest",
		file: "core/fixed.go", old: "	v.Remaining = max(0, r.limit-used)\n", new: "	v.Remaining = r.limit - used\n",
		pkg: "internal/matrix", run: "^TestAttack_D10$",
	}, {
		name: "retry-after-floored", from: "many", what: "Retry-After is cut to whole seconds, so that who obeys is refused",
		file: "core/header.go", old: "	return max(1, seconds(d.RetryAfter.Microseconds()+d.jitter))\n", new: "	return max(1, (d.RetryAfter.Microseconds()+d.jitter)/1e6)\n",
		pkg: "core", run: "^TestRetryAfterIsNeverTooEarly$",
	}, {
		name: "windows-end-together", from: "httprate, ulule", what: "the windows of all keys begin at full minutes",
		file: "core/align.go", old: "	case Clock:\n		phase = 0\n", new: "	default:\n		phase = 0\n",
		pkg: "internal/matrix", run: "^TestAttack_D5$",
	}, {
		name: "debt-wraps", from: "memcached counters that wrap at 2^64", what: "a counter grows without an end",
		file: "core/bound.go", old: "return max(0, min(debt, MaxCount-count))", new: "return debt",
		pkg: "core", run: "^TestDebt|^TestExtremeCosts$",
	}, {
		name: "refund-lifts-the-limit", from: "refunds without a floor", what: "more is given back than was taken",
		file: "core/bound.go", old: "return min(count, -max(delta, -MaxCount))", new: "return -delta",
		pkg: "core", run: "^TestRefund|^TestExtremeCosts$",
	},
}
