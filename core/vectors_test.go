package core

import (
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"
)

// limits, fixed window, which counts refused hits. On purpose different: Redis
// keeps a window for its last instant too; cost 0 is refused by no full cell.
func TestVectorsFixedWindow(t *testing.T) {
	r := newReplay(t, "fixed-window")
	r.each(func(sc *scenario, i int, st *recorded) (skipped, rest string) {
		if sc.FirstDisagreement != nil && i >= *sc.FirstDisagreement && sc.Variant == "redis" {
			return "closed window", "closed window"
		}
		c := r.cell(st.Key, FixedWindow{Align: FirstHit}, per(sc.Rate.Limit, millis(sc.Rate.Period)))
		when := Always
		if st.Op == "test" {
			when = Never
		}
		v := c.take(r.now, st.Cost, when)
		if st.Cost == 0 && st.Count > sc.Rate.Limit && sc.Rate.Limit > 0 {
			return "cost 0 in a cell filled by refusals", ""
		}
		r.admitted(v, st.Allowed)
		after := c.peek(r.now, 0)
		r.equal("remaining", after.Remaining, *st.Remaining)
		if sc.Variant == "memory" && sc.Rate.Limit > 0 && after.ResetAfter > 0 {
			r.equal("reset", r.now+after.ResetAfter, (sc.Epoch+*st.Reset)*ms)
		}
		return "", ""
	})
	r.tallied(map[string]int{compared: 158, "closed window": 2, "cost 0 in a cell filled by refusals": 2})
}

// django-ratelimit's windows are (end-period, end] in whole seconds, so the
// second of the end still belongs to them: in instants [end-period+1s, end+1s).
func djangoPhase(value string, period int64) int64 {
	return mod(int64(crc32.ChecksumIEEE([]byte(value)))+1, period) * sec
}

func TestVectorsDjangoWindowEnd(t *testing.T) {
	r := newReplay(t, "django-window-end")
	for _, c := range r.Cases {
		phase := djangoPhase(c.Value, c.Period)
		end := Staggered.end(c.Now*ms, phase, c.Period*sec)
		r.equal(fmt.Sprintf("end of %+v", c), end, (c.WindowEnd+1)*sec)
	}
	r.equal("number of cases", int64(len(r.Cases)), 38)
}

// On purpose different: looking (increment false) asks whether the next request
// would be admitted, where the reference asks whether the last one was refused.
func TestVectorsDjangoSequence(t *testing.T) {
	r := newReplay(t, "django-window-sequence")
	r.each(func(sc *scenario, i int, st *recorded) (skipped, rest string) {
		if st.Applies != nil && !*st.Applies {
			return "method not limited", ""
		}
		period := sc.Rate.Period / 1000
		c := r.cell(st.Value, FixedWindow{}, per(sc.Rate.Limit, millis(sc.Rate.Period)))
		c.phase = djangoPhase(st.Value, period)
		if !st.Increment {
			r.admitted(c.peek(r.now, 1), st.Count < sc.Rate.Limit)
			return "", ""
		}
		v := c.take(r.now, 1, Always)
		r.admitted(v, !st.ShouldLimit)
		if sc.Rate.Limit > 0 {
			r.equal("remaining", c.peek(r.now, 0).Remaining, max(0, sc.Rate.Limit-st.Count))
			r.equal("window end", c.state[0], (st.WindowEnd+1)*sec)
		}
		return "", ""
	})
	r.tallied(map[string]int{compared: 63, "method not limited": 5})
}

// On purpose different: an entry exactly one period old is gone, as the
// reference's documentation says and its code does not.
func TestVectorsMovingWindow(t *testing.T) {
	r := newReplay(t, "moving-window")
	r.each(func(sc *scenario, i int, st *recorded) (skipped, rest string) {
		if sc.BoundarySensitive && st.Boundary {
			return "closed window", "closed window"
		}
		c := r.cell(st.Key, MovingWindow{}, per(sc.Rate.Limit, millis(sc.Rate.Period)))
		when := OnAdmit
		if st.Op == "test" {
			when = Never
		}
		v := c.take(r.now, st.Cost, when)
		if sc.Rate.Limit == 0 && st.Cost == 0 {
			return "cost 0 under limit 0", ""
		}
		if st.Quirk == "" || st.Op != "test" {
			r.admitted(v, st.Allowed)
		}
		if st.Boundary {
			return "", ""
		}
		after := c.peek(r.now, 0)
		r.equal("remaining", after.Remaining, *st.Remaining)
		if used := after.Remaining < sc.Rate.Limit; used && st.Reset != nil && sc.Variant == "memory" {
			oldest := c.clone()
			log := openRing(oldest.state)
			_, first, _ := oldest.rule.(*movingRule).live(&log, r.now)
			r.equal("reset", log.stamp(first)+sc.Rate.Period*ms, (sc.Epoch+*st.Reset)*ms)
		}
		return "", ""
	})
	r.tallied(map[string]int{compared: 184, "closed window": 36})
}

// limits on Redis begins windows at the first hit, so it binds only as far as
// it decides as the aligned windows in memory do.
func TestVectorsSlidingWindow(t *testing.T) {
	r := newReplay(t, "sliding-window-counter")
	r.each(func(sc *scenario, i int, st *recorded) (skipped, rest string) {
		redis := sc.Variant == "redis"
		if redis && sc.FirstDisagreement != nil && i >= *sc.FirstDisagreement {
			return "other alignment", "other alignment"
		}
		c := r.cell(st.Key, SlidingWindow{Align: Clock}, per(sc.Rate.Limit, millis(sc.Rate.Period)))
		if sc.Rate.Limit == 0 && st.Cost == 0 {
			return "cost 0 under limit 0", ""
		}
		r.admitted(c.take(r.now, st.Cost, OnAdmit), st.Allowed)
		if st.Remaining != nil && !redis {
			r.equal("remaining", c.peek(r.now, 0).Remaining, *st.Remaining)
		}
		return "", ""
	})
	r.tallied(map[string]int{compared: 213, "other alignment": 11})
}

// httprate rounds the weighted sum where this library rounds down: steps at
// which that shows are not compared, and follow the recorded decision.
func TestVectorsHTTPRate(t *testing.T) {
	r := newReplay(t, "httprate-sliding-window")
	r.each(func(sc *scenario, i int, st *recorded) (skipped, rest string) {
		window := millis(sc.Rate.Period)
		align := Staggered
		if sc.Alignment == "wall" {
			align = Clock
		}
		limit := sc.Rate.Limit
		if st.Limit != nil {
			limit = *st.Limit
		}
		if limit == 0 && st.Cost == 0 {
			return "cost 0 under limit 0", ""
		}
		c := r.kept(st.Key, SlidingWindow{Align: align}, per(limit, window))
		c.phase = mod(sc.Epoch*ms, window.Microseconds())
		c.rule, _ = SlidingWindow{Align: align}.Bind(per(limit, window))
		rule := c.rule.(*slidingRule)
		p := rule.at(c.state, r.now, c.phase)
		if p.prev*(p.end-r.now)%rule.window*2 >= rule.window {
			if st.Allowed {
				c.charge(r.now, st.Cost)
			}
			return "rounded up", ""
		}
		r.admitted(c.take(r.now, st.Cost, OnAdmit), st.Allowed)
		r.equal("remaining", c.peek(r.now, 0).Remaining, max(0, *st.Remaining))
		return "", ""
	})
	r.tallied(map[string]int{compared: 96, "cost 0 under limit 0": 1, "defect of the reference": 9, "rounded up": 10})
}

// dr-josiah's script: several limits and keys, all or nothing. On purpose
// different: a precision that does not divide the window is an error.
func TestVectorsSubBuckets(t *testing.T) {
	r := newReplay(t, "subbucket-sliding-window")
	r.each(func(sc *scenario, i int, st *recorded) (skipped, rest string) {
		ok := true
		cells := make([][]*counter, len(st.Keys))
		for k, key := range st.Keys {
			for _, l := range sc.Limits {
				precision := l.Precision
				if precision == 0 {
					precision = l.Period
				}
				s := BucketedWindow{Precision: millis(precision), Inclusive: true, Align: Clock}
				rate := per(l.Limit, millis(l.Period))
				if _, err := s.Bind(rate); err != nil {
					return "refused by Bind", "refused by Bind"
				}
				c := r.cell(fmt.Sprint(key, l), s, rate)
				cells[k] = append(cells[k], c)
				ok = ok && c.peek(r.now, st.Weight).OK
			}
		}
		r.admitted(Verdict{Judgement: Judgement{OK: ok}}, st.Allowed)
		for k := range cells {
			for j, c := range cells[k] {
				if ok {
					c.charge(r.now, st.Weight)
					r.equal("used", sc.Limits[j].Limit-c.peek(r.now, 0).Remaining, st.Used[k][j])
				}
			}
		}
		return "", ""
	})
	r.tallied(map[string]int{compared: 79, "defect of the reference": 40, "refused by Bind": 4})
}

// dr-josiah's earlier script counts a refused request in some of its counters:
// after such a refusal nothing coincides, unless there is but one counter.
func TestVectorsMultiBucketCounter(t *testing.T) {
	r := newReplay(t, "multi-bucket-counter")
	r.each(func(sc *scenario, i int, st *recorded) (skipped, rest string) {
		ok, one := true, len(sc.Limits) == 1 && len(st.Keys) == 1
		for _, key := range st.Keys {
			for _, l := range sc.Limits {
				c := r.cell(fmt.Sprint(key, l), FixedWindow{Align: Clock}, per(l.Limit, millis(l.Period)))
				ok = ok && c.peek(r.now, 1).OK
			}
		}
		r.admitted(Verdict{Judgement: Judgement{OK: ok}}, st.Allowed)
		for k, key := range st.Keys {
			for j, l := range sc.Limits {
				if c := r.cells[fmt.Sprint(key, l)]; ok || one {
					c.charge(r.now, 1)
					r.equal("used", l.Limit-c.peek(r.now, 0).Remaining, min(l.Limit, st.Counts[k][j]))
				}
			}
		}
		if !ok && !one {
			return "", "refusal counted in part"
		}
		return "", ""
	})
	r.tallied(map[string]int{compared: 42, "refusal counted in part": 16})
}

// The cache class of 2009 counts every request in its minute and refuses while
// the minutes sum up to the limit.
func TestVectorsMinuteBuckets(t *testing.T) {
	r := newReplay(t, "minute-buckets")
	r.each(func(sc *scenario, i int, st *recorded) (skipped, rest string) {
		if limited := st.Post != nil; !limited && strings.HasPrefix(sc.Name, "post-") {
			return "method not limited", ""
		}
		s := BucketedWindow{Precision: time.Minute, Align: Clock}
		window := time.Duration(sc.Minutes) * time.Minute
		if sc.Minutes == 0 { // the current minute alone
			s.Inclusive, window = true, time.Minute
		}
		c := r.cell(st.Key+string(st.Post), s, per(sc.Rate.Limit, window))
		r.admitted(c.take(r.now, 1, Always), st.Allowed)
		return "", ""
	})
	r.tallied(map[string]int{compared: 102, "method not limited": 3})
}

// The list keeps an entry exactly one window old, the sorted set does not; the
// counter keeps its window for its last instant.
func TestVectorsRedisRollingWindow(t *testing.T) {
	r := newReplay(t, "redis-rolling-window")
	r.each(func(sc *scenario, i int, st *recorded) (skipped, rest string) {
		rate := per(sc.Rate.Limit, millis(sc.Rate.Period))
		if sc.Variant == "counter" {
			if c := r.cells[st.Key]; c != nil && c.state[0] == r.now {
				return "closed window", "closed window"
			}
			c := r.cell(st.Key, FixedWindow{Align: FirstHit}, rate)
			r.admitted(c.take(r.now, 1, Always), st.Allowed)
			return "", ""
		}
		if sc.Variant == "list" && sc.BoundarySensitive {
			return "closed window", "closed window"
		}
		r.admitted(r.cell(st.Key, MovingWindow{}, rate).take(r.now, 1, OnAdmit), st.Allowed)
		return "", ""
	})
	r.tallied(map[string]int{compared: 117, "closed window": 33, "defect of the reference": 14})
}

// throttled truncates its interval to nanoseconds, so its durations may be
// shorter than the exact ones, rounded up, by a microsecond.
func TestVectorsThrottled(t *testing.T) {
	r := newReplay(t, "gcra-throttled")
	r.each(func(sc *scenario, i int, st *recorded) (skipped, rest string) {
		c := r.cell(st.Key, GCRA{Burst: sc.Rate.MaxBurst + 1}, per(sc.Rate.Count, millis(sc.Rate.Period)))
		v := c.take(r.now, st.Cost, OnAdmit)
		r.admitted(v, st.Allowed)
		if st.Quirk != "" {
			return "", ""
		}
		near := func(what string, got, ns int64) {
			if d := got*1000 - ns; d < 0 || d >= 2000 {
				r.Errorf("%s is %d µs, recorded %d ns", what, got, ns)
			}
		}
		r.equal("remaining", v.Remaining, *st.Remaining)
		near("reset after", v.ResetAfter, st.ResetNS)
		switch {
		case v.OK:
		case st.RetryNS < 0:
			r.equal("retry after", v.RetryAfter, Forever)
		default:
			near("retry after", v.RetryAfter, st.RetryNS)
		}
		return "", ""
	})
	r.tallied(map[string]int{compared: 121, "defect of the reference": 4})
}

// On purpose different: a refusal tells what really remains, and a cost above
// the burst is refused for ever. AllowAtMost also takes the fraction that is
// left, which nothing here does.
func TestVectorsRedisRate(t *testing.T) {
	r := newReplay(t, "gcra-redis-rate")
	r.each(func(sc *scenario, i int, st *recorded) (skipped, rest string) {
		if sc.Rate.Burst == 0 {
			return "burst 0 means the limit", "burst 0 means the limit"
		}
		c := r.cell(st.Key, GCRA{Burst: sc.Rate.Burst}, per(sc.Rate.Rate, millis(sc.Rate.Period)))
		cost := st.Cost
		if st.Op == "at_most" && cost == 0 {
			return "nothing asked for", ""
		}
		if st.Op == "at_most" {
			cost = min(cost, max(1, c.peek(r.now, 0).Remaining))
			if st.Allowed {
				r.equal("granted", cost, st.AllowedN)
			}
		}
		v := c.take(r.now, cost, OnAdmit)
		r.admitted(v, st.Allowed)
		if st.Drained {
			return "", "fraction taken"
		}
		r.equal("reset after", v.ResetAfter, int64(st.ResetAfter*1000))
		switch {
		case v.OK:
			r.equal("remaining", v.Remaining, *st.Remaining)
		case cost > sc.Rate.Burst:
			r.equal("retry after", v.RetryAfter, Forever)
		default:
			r.equal("retry after", v.RetryAfter, int64(st.RetryAfter*1000))
		}
		return "", ""
	})
	r.tallied(map[string]int{compared: 93, "burst 0 means the limit": 3, "defect of the reference": 4, "fraction taken": 5, "nothing asked for": 2})
}
