package core

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// A Candidate is a rate, or a way to count, that is tried beside a policy's own:
// it is asked in the same step, as a decision of its own, but it refuses nobody,
// and no Decision shows it. What it would have changed is counted (see
// Limiter.Trial) and told to the Observer. It counts in cells of its own.
//
// It foretells what the policy would do alone. It also counts what another policy
// of the Limiter refuses, and so refuses rather too much where that is much; what
// the policy's Ban refuses is not compared.
type Candidate struct {
	// Rate and Rates are as in Policy: set one of them, or none for those of the
	// policy.
	Rate  string
	Rates Rates
	// Strategy counts; nil is the policy's own.
	Strategy Strategy
	// Share is the part of the identities that take part, in percent, always the
	// same ones in all processes of one Secret; 0 is all.
	Share float64
}

// A Trial is what a candidate, or a policy in Mode Shadow, would have changed.
type Trial struct {
	// Agreed is how often it decided as is enforced. NewlyRefused and NewlyAllowed
	// are how often it alone would have refused or admitted.
	Agreed, NewlyRefused, NewlyAllowed uint64
}

// A trial counts what a Trial reports.
type trial struct {
	group                              int32  // of the asks: the policy's number, from 1
	share                              uint64 // of 1<<32; 0 is all
	naming                             *Naming
	agreed, newlyRefused, newlyAllowed atomic.Uint64
}

// Trial reports on the named policy's Candidate, or on the policy itself where it
// is in Mode Shadow, since the Limiter was made. It is an error where there is
// neither.
func (l *Limiter) Trial(policy string) (Trial, error) {
	p, err := l.policy(policy)
	if err != nil {
		return Trial{}, err
	}
	t := p.trial
	if t == nil {
		return Trial{}, fmt.Errorf("stint: policy %s has no Candidate and is not in Mode Shadow", policy)
	}
	return Trial{t.agreed.Load(), t.newlyRefused.Load(), t.newlyAllowed.Load()}, nil
}

// setTrial makes the quotas of the candidate, or notes that the policy is a
// shadow.
func (p *policy) setTrial(c *Config, in *Policy, naming *Naming) error {
	shadow := in.Mode == Shadow
	if !shadow && in.Candidate == nil {
		return nil
	}
	p.trial = &trial{naming: naming}
	if shadow {
		if in.Candidate != nil {
			return errors.New("Candidate: the policy is in Mode Shadow and a trial itself: make the candidate its Rate")
		}
		return nil
	}
	switch {
	case p.rateFunc != nil:
		return errors.New("Candidate: there is none beside a RateFunc: try it in a policy of its own in Mode Shadow")
	case in.Candidate.Rate == "" && in.Candidate.Rates == nil && in.Candidate.Strategy == nil:
		return errors.New("Candidate: set Rate, Rates or Strategy: it is the same as the policy")
	case !(in.Candidate.Share >= 0 && in.Candidate.Share <= 100):
		return fmt.Errorf("Candidate: a share of %v percent: use 0 to 100, where 0 is all", in.Candidate.Share)
	}
	if _, ends := in.Candidate.Strategy.(endsLater); ends {
		return errors.New("Candidate: InFlight would not see how a request ends: try it in a policy of its own that annotates")
	}
	if in.Candidate.Share > 0 {
		p.trial.share = max(1, uint64(in.Candidate.Share/100*(1<<32))) // 0 would be all
	}
	other := *in
	if in.Candidate.Rate != "" || in.Candidate.Rates != nil {
		other.Rate, other.Rates = in.Candidate.Rate, in.Candidate.Rates
	}
	if in.Candidate.Strategy != nil {
		other.Strategy = in.Candidate.Strategy
	}
	twin := &policy{name: p.name + ".candidate", cost: p.cost, soft: true} // no policy's name has a "."
	if err := twin.setRates(c, &other, naming); err != nil {
		return fmt.Errorf("Candidate: %w", err)
	}
	for _, q := range twin.quotas {
		q.policy, q.shadow = p, true
	}
	p.quotas = append(p.quotas, twin.quotas...)
	return nil
}

// takesPart reports whether the identity is one of those that the trial is about.
func (t *trial) takesPart(k *Key) bool {
	return t.share == 0 || t.naming.DigestOf(k).Hash()>>32 < t.share
}

// shadowsLast moves the asks of shadows behind all others, which are one decision,
// and makes those of each policy a decision of their own in the same Take: all or
// nothing, as they would be if they were enforced.
func (c *call) shadowsLast() (enforced int) {
	enforced = slices.IndexFunc(c.quotas, func(q *quota) bool { return q.shadow })
	if enforced < 0 {
		return len(c.quotas)
	}
	for i := enforced; i < len(c.quotas); i++ {
		q := c.quotas[i]
		if q.shadow {
			continue
		}
		a := c.asks[i]
		copy(c.asks[enforced+1:], c.asks[enforced:i])
		copy(c.quotas[enforced+1:], c.quotas[enforced:i])
		c.asks[enforced], c.quotas[enforced] = a, q
		enforced++
	}
	for i := enforced; i < len(c.asks); i++ {
		c.asks[i].Group, c.asks[i].Soft = c.quotas[i].policy.trial.group, false
	}
	return enforced
}

// hideShadows takes all but the first asks out of a decision that was made, and
// returns them.
func (c *call) hideShadows(enforced int) (shadows call) {
	shadows.asks, shadows.quotas, shadows.out = c.asks[enforced:], c.quotas[enforced:], c.out[enforced:]
	c.asks, c.quotas, c.out = c.asks[:enforced], c.quotas[:enforced], c.out[:enforced]
	return shadows
}

// compare counts for each policy what its shadow would have changed. A look
// changes nothing, and what somebody could not decide, or a ban has decided, is
// not compared.
func (l *Limiter) compare(c *call, d *Decision, shadows call) {
	for len(shadows.quotas) > 0 {
		p, n, key := shadows.quotas[0].policy, 0, shadows.asks[0].Cell.Key
		would, enforced, known := true, true, shadows.asks[0].When != Never
		for ; n < len(shadows.quotas) && shadows.quotas[n].policy == p; n++ {
			would, known = would && shadows.out[n].OK, known && shadows.out[n].Err == nil
		}
		shadows.asks, shadows.quotas, shadows.out = shadows.asks[n:], shadows.quotas[n:], shadows.out[n:]
		for i, q := range c.quotas {
			if q.policy == p {
				e := d.at(i)
				enforced, known = enforced && e.OK, known && e.err == nil && (e.OK || !q.ban || e.began)
			}
		}
		if known {
			p.trial.count(enforced, would)
		}
		if known && enforced != would && l.config.Observer != nil {
			e := l.about(EventDisagreed, p, key)
			e.Allowed = would
			l.tell(e)
		}
	}
}

func (t *trial) count(enforced, would bool) {
	switch {
	case enforced == would:
		t.agreed.Add(1)
	case enforced:
		t.newlyRefused.Add(1)
	default:
		t.newlyAllowed.Add(1)
	}
}
