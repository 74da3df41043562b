package core

// Admit is Rule.Decide, Charge where that says OK, and Until, in one call without
// an interface's: for backends inside the process whose caller wants no figures.
// It works on the state where it lies, which may lack trailing words that are
// zero, and is for cost > 0.
//
// It knows the rules of a few words of this package, and declines all others, a
// state that would outgrow s, and one that holds refunds: Done is false then,
// and s is unchanged. It calls nobody else's code and does not panic.
func Admit(rule Rule, s State, now, phase, cost int64) Step {
	switch r := rule.(type) {
	case *gcraRule:
		return r.admit(s, now, cost)
	case *slidingRule:
		return r.admit(s, now, phase, cost)
	case *fixedRule:
		return r.admit(s, now, phase, cost)
	}
	return Step{}
}

// A Step is what Admit did.
type Step struct {
	Done bool // Admit did not decline
	OK   bool // the cost was admitted, and charged
	// Full: the cell refuses the next unit, or has refused a cost that would fit
	// an empty one.
	Full  bool
	Until int64 // that of the state, where OK
}

// FiguresOf are the figures of Decide after an Admit that was done: s is the state
// as it has become, and ok what Admit said of that cost. Like Admit it makes no
// call of an interface, takes states that lack trailing zeros, and does not panic.
// Figures of a rule that Admit does not know are zero.
func FiguresOf(rule Rule, s State, now, phase, cost int64, ok bool) Figures {
	switch r := rule.(type) {
	case *gcraRule:
		return r.figures(s, now, cost, ok)
	case *slidingRule:
		return r.figures(s, now, phase, cost, ok)
	case *fixedRule:
		return r.figures(s, now, phase, cost, ok)
	}
	return Figures{}
}

func (r *gcraRule) admit(s State, now, cost int64) Step {
	tat := span{q: s[0]}
	switch len(s) {
	case 1:
	case 2:
		tat = r.tat(s)
	default:
		return Step{}
	}
	if tat.q < now {
		tat = span{q: now}
	}
	if cost > r.burst {
		return Step{Done: true}
	}
	units := r.unit
	if cost != 1 {
		units = r.spanOf(cost)
	}
	full := span{now + r.full.q, r.full.r}
	tat = r.add(tat, units)
	if full.less(tat) {
		return Step{Done: true, Full: true}
	}
	if len(s) == 2 {
		s[1] = tat.r
	} else if tat.r != 0 {
		return Step{}
	}
	s[0] = tat.q
	return Step{Done: true, OK: true, Full: full.less(r.add(tat, r.unit)), Until: tat.ceil()}
}

func (r *gcraRule) figures(s State, now, cost int64, ok bool) (f Figures) {
	if r.limit == 0 {
		return neverFigures
	}
	backlog := span{}
	if len(s) > 0 && s[0] >= now {
		backlog.q = s[0] - now
		if len(s) > 1 && s[1] != 0 {
			backlog = r.tat(s)
			backlog.q -= now
		}
	}
	if cost > r.burst {
		f.RetryAfter = Forever
	} else if !ok {
		f.RetryAfter = r.sub(r.add(backlog, r.spanOf(cost)), r.full).ceil()
	}
	f.Remaining, f.NextAfter = r.room(backlog)
	f.ResetAfter = backlog.ceil()
	return f
}

func (r *fixedRule) admit(s State, now, phase, cost int64) Step {
	if len(s) != 2 {
		return Step{}
	}
	end, used := r.at(s, now, phase)
	free := r.limit - used
	if cost > free {
		return Step{Done: true, Full: cost <= r.limit}
	}
	s[0], s[1] = end, used+cost
	return Step{Done: true, OK: true, Full: cost == free, Until: end}
}

func (r *fixedRule) figures(s State, now, phase, cost int64, ok bool) (f Figures) {
	if r.limit == 0 {
		return neverFigures
	}
	all := [2]int64{}
	copy(all[:], s)
	end, used := r.at(all[:], now, phase)
	f.Remaining = max(0, r.limit-used)
	if used > 0 {
		f.NextAfter, f.ResetAfter = end-now, end-now
	}
	if cost > r.limit {
		f.RetryAfter = Forever
	} else if !ok {
		f.RetryAfter = end - now
	}
	return f
}

func (r *slidingRule) admit(s State, now, phase, cost int64) Step {
	all := [3]int64{}
	if len(s) < 2 || copy(all[:], s) < len(s) {
		return Step{}
	}
	p := r.at(all[:], now, phase)
	free := r.limit - r.used(p, now)
	if cost > free {
		return Step{Done: true, Full: cost <= r.limit}
	}
	p.cur += cost
	if len(s) == 3 {
		s[2] = p.prev
	} else if p.prev != 0 {
		return Step{}
	}
	s[0], s[1] = p.end, p.cur
	// Until of a window with units in it: they weigh less than one in the next.
	return Step{Done: true, OK: true, Full: cost == free, Until: p.end + r.window - (r.window-1)/p.cur}
}

func (r *slidingRule) figures(s State, now, phase, cost int64, ok bool) (f Figures) {
	if r.limit == 0 {
		return neverFigures
	}
	all := [3]int64{}
	copy(all[:], s)
	p := r.at(all[:], now, phase)
	used := r.used(p, now)
	f.Remaining = max(0, r.limit-used)
	if used > 0 {
		f.NextAfter = r.fits(p, min(used, r.limit)-1) - now
		f.ResetAfter = r.fits(p, 0) - now
	}
	if cost > r.limit {
		f.RetryAfter = Forever
	} else if !ok {
		f.RetryAfter = r.fits(p, r.limit-cost) - now
	}
	return f
}
