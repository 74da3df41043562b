package core

// takeKey is takeAll for one ask, by the backend's short way.
func (l *Limiter) takeKey(q *quota, key *Key, cost int64, when When, d *Decision) error {
	err := l.takeOne(q, key.Print(l.seeds), cost, when, d)
	if err != nil {
		return l.copeOne(q, key, cost, when, err, d)
	}
	return nil
}

// takeOne is takeKey for a key that is known by its print alone. An error is the
// backend's, still to be coped with.
func (l *Limiter) takeOne(q *quota, key Print, cost int64, when When, d *Decision) error {
	o, f, err := l.single.TakeOne(l.at(), q.space, q.rule, key, cost, when)
	if err != nil {
		return err
	}
	// Field by field: a struct that has just been written is slow to copy.
	e := &d.first
	e.b, e.soft = q, q.policy.soft
	e.OK, e.Remaining = o.OK, f.Remaining
	e.RetryAfter, e.NextAfter, e.ResetAfter = f.RetryAfter, f.NextAfter, f.ResetAfter
	d.now, d.headers, d.disallowed = o.Now, l.headers, l.config.Disallowed
	d.Limited = !o.OK
	d.Allowed = o.OK || e.soft
	d.speak(e)
	if !d.Allowed && l.config.Jitter {
		d.spread()
	}
	return nil
}
