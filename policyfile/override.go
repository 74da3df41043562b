package policyfile

import (
	"net/netip"
	"time"

	"github.com/stint-go/stint/core"
)

// An Override is another rate for some of those whom a policy limits, as for a
// tenant who has called. It ends by itself. What is consumed stays counted: both
// rates have the same windows, or else the override starts empty.
type Override struct {
	// Match are the conditions, all of which hold: a word of the key notation
	// (ip, user, route, header:X, get:q, post:f, json:f) and the value. That of
	// ip is an address or a network.
	Match map[string]string
	// Rates hold instead of the policy's: those of the file, or the policy's
	// multiplied.
	Rates core.Rates
	// From and Until bound it, half-open. A zero From has begun.
	From, Until time.Time

	conditions []condition
}

// A condition is one line of Match, ready to be asked.
type condition func(core.Request) bool

// holds reports whether the override applies to a request at an instant.
func (o *Override) holds(r core.Request, now time.Time) bool {
	if now.Before(o.From) || !now.Before(o.Until) {
		return false
	}
	for _, met := range o.conditions {
		if !met(r) {
			return false
		}
	}
	return true
}

// ready is the policy for core.New: with its overrides as a function, and with
// its generation in the key.
func (p *Policy) ready(clock func() time.Time) core.Policy {
	q := p.Policy
	if p.generation != "" {
		key := q.Key
		if key == nil {
			key = core.ByIP
		}
		q.Key = core.Join(key, core.Const(p.generation))
	}
	if len(p.Overrides) == 0 {
		return q
	}
	if clock == nil {
		clock = time.Now
	}
	rates, overrides := q.Rates, p.Overrides
	q.Rates = nil
	q.RateFunc = func(_ string, r core.Request) (core.Rates, error) {
		if r == nil { // asked outside of a request: there is nothing to match
			return rates, nil
		}
		now := clock()
		for i := range overrides {
			if overrides[i].holds(r, now) {
				return overrides[i].Rates, nil
			}
		}
		return rates, nil
	}
	return q
}

// times multiplies the limits of rates.
func times(rates core.Rates, factor int64) core.Rates {
	if rates == nil { // the file's mistake, and complained about
		return nil
	}
	out := make(core.Rates, len(rates))
	for i, r := range rates {
		r.Limit = min(r.Limit*factor, core.MaxLimit)
		out[i] = r
	}
	return out
}

// inNetwork is the condition of ip.
func inNetwork(p netip.Prefix) condition {
	return func(r core.Request) bool { return p.Contains(r.IP()) }
}
