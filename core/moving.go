package core

// MovingWindow logs every charge and counts those of the last W: exact at every
// instant, for the price of a log. Use it for small limits that must be exact.
//
// Bound: at most N units in any interval of length W. Proof: when the last unit
// in the interval was admitted, all others in it were in the log, and with them
// it was at most N. Reached by N units at once.
//
// State: a ring of instants and units, as long as needed: at most 2N+2 words.
// Charges at one instant share an entry. A charge exactly W old is gone.
//
// Ancestors: the moving window of limits, the Redis lists and sorted sets.
//
// Counting refused requests keeps the newest N units and drops the oldest, which
// changes no decision. Debt may pass N units but not N entries: it then joins
// the newest entry and takes it along to its own instant.
type MovingWindow struct {
	// Max is the largest limit accepted, since a cell grows up to 16 bytes per
	// unit; 0 means 10,000. At most 67,108,863.
	Max int64
}

const (
	movingName    = "moving-window"
	movingDefault = 10_000
)

// Name implements Strategy.
func (MovingWindow) Name() string { return movingName }

// Bind implements Strategy.
func (m MovingWindow) Bind(rate Rate) (Rule, error) {
	b, err := bind(movingName, "moving", rate)
	if err != nil {
		return nil, err
	}
	complain, complaints := complaintsOf(movingName)
	longest := m.Max
	if longest == 0 {
		longest = movingDefault
	}
	if m.Max < 0 || m.Max > ringMax {
		complain("maximum %d is out of range: use 1 to %d, or 0 for %d", m.Max, ringMax, movingDefault)
	} else if rate.Limit > longest {
		complain("limit %d makes a log of that many entries per key, %d are accepted: "+
			"raise Max or use GCRA or BucketedWindow", rate.Limit, longest)
	}
	if err := complaints(); err != nil {
		return nil, err
	}
	return &movingRule{b}, nil
}

type movingRule struct{ bound }

func (r *movingRule) Words() int { return 0 }

// live is the instant that counts as now, the first entry of the log that still
// counts then, and the units from there on.
func (r *movingRule) live(log *ring, now int64) (at int64, first int, used int64) {
	if log.n == 0 {
		return now, 0, 0
	}
	newest := log.stamp(log.n - 1)
	at = max(now, newest)
	if newest <= at-r.window {
		return at, log.n, 0
	}
	for used = log.units; log.stamp(first) <= at-r.window; first++ {
		used -= *log.unitsAt(first)
	}
	return at, first, used
}

func (r *movingRule) Decide(s State, now, _, cost int64) (v Judgement) {
	if r.limit == 0 {
		return refuseAll()
	}
	log := openRing(s)
	at, first, used := r.live(&log, now)
	v.OK = cost <= r.limit-used
	if v.OK && cost > 0 {
		v.Remaining = r.limit - used - cost
		v.NextAfter, v.ResetAfter = at+r.window-now, at+r.window-now
		if used > 0 {
			v.NextAfter = log.stamp(first) + r.window - now
		}
		return v
	}
	v.Remaining = max(0, r.limit-used)
	if cost > r.limit {
		v.RetryAfter = Forever
	} else if !v.OK {
		v.RetryAfter = log.newestOf(first, used+cost-r.limit) + r.window - now
	}
	if used > 0 {
		v.NextAfter = log.newestOf(first, used-min(used, r.limit)+1) + r.window - now
		v.ResetAfter = log.stamp(log.n-1) + r.window - now
	}
	return v
}

// Charge's receipt is the charge's stamp.
func (r *movingRule) Charge(s State, now, _, cost int64) (State, Receipt) {
	n := min(cost, r.limit)
	if n == 0 {
		return s, Receipt{}
	}
	log := openRing(s)
	at, first, used := r.live(&log, now)
	log.drop(first)
	excess := used + n - r.limit
	if excess > 0 {
		log.dropUnits(excess)
	}
	log.add(at, n, r.limit)
	if excess > 0 || n < cost {
		return log.close(), Receipt{}
	}
	return log.close(), Receipt{A: at}
}

func (r *movingRule) Settle(s State, now, _ int64, rc Receipt, delta int64) State {
	if delta == 0 || delta < 0 && rc.A == 0 {
		return s
	}
	log := openRing(s)
	if delta < 0 {
		if i, ok := log.find(rc.A); ok {
			log.take(i, refunded(*log.unitsAt(i), delta))
		}
		return log.close()
	}
	at, first, used := r.live(&log, now)
	log.drop(first)
	if log.n > 0 && int64(log.n) >= r.limit {
		log.restamp(at)
	}
	log.add(at, owed(used, delta), r.limit)
	return log.close()
}

func (r *movingRule) Until(s State) int64 {
	log := openRing(s)
	if log.n == 0 {
		return 0
	}
	return log.stamp(log.n-1) + r.window
}
