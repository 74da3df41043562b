package core

// A FailureMode is what a policy does while its backend is down: while asks of it
// come back with an error that is ErrUnavailable. Every other error refuses.
type FailureMode uint8

const (
	// Fallback has an in-process limiter decide by the same rates, divided by
	// Config.Instances: a dead store neither opens the door nor closes the shop.
	// Where there is none (see Config.Fallback), it is FailClosed.
	Fallback FailureMode = iota
	// FailClosed refuses: 503 with a Retry-After.
	FailClosed
	// FailOpen admits, without any limit, for as long as the store is down.
	FailOpen
)

// String is "fallback", "closed" or "open".
func (m FailureMode) String() string {
	switch m {
	case FailClosed:
		return "closed"
	case FailOpen:
		return "open"
	}
	return "fallback"
}

// A FallbackProvider is a Backend outside the process that brings along the one
// to fall back to. Fallback returns the same every time, or nil for none; it is
// called when it is needed first. Reset empties the cells of both.
type FallbackProvider interface{ Fallback() Backend }

// A Divisible is a Strategy with settings that count units, such as a burst.
// Divide returns the strategy of one of n instances that share a rate: those
// settings divided by n, but not below least, nor above what they were.
type Divisible interface{ Divide(n, least int64) Strategy }

// fallback is the backend to fall back to, or nil.
func (l *Limiter) fallback() Backend {
	if l.config.Fallback != nil {
		return l.config.Fallback
	}
	if p, ok := l.backend.(FallbackProvider); ok {
		return p.Fallback()
	}
	return nil
}

// share is the rule that the fallback applies instead of whole: the limit, and a
// burst, of one instance. It is at least one unit and what a request costs, for a
// share that admits nobody would close the shop. nil where there is no such rule.
func (b *binder) share(r Rate, whole Rule) Rule {
	units, _ := whole.Quota()
	if b.instances <= 1 || units == 0 {
		return whole
	}
	least := min(max(b.policy.cost, 1), units)
	strategy := b.strategy
	if d, ok := strategy.(Divisible); ok {
		strategy = d.Divide(b.instances, least)
	}
	r.Limit = max(r.Limit/b.instances, 1)
	rule, err := strategy.Bind(r)
	if err == nil && capacity(rule) < least {
		r.Limit = max(r.Limit, least)
		rule, err = strategy.Bind(r)
	}
	if err != nil || capacity(rule) < least {
		return nil
	}
	return rule
}

func capacity(r Rule) int64 {
	units, _ := r.Quota()
	return units
}
