package core

import (
	"slices"
	"testing"
	"time"
)

// A counter is one cell kept as a backend would keep it: the smallest one that
// honours the contract, Until included.
type counter struct {
	rule  Rule
	state State
	phase int64
}

func newCounter(t testing.TB, s Strategy, r Rate) *counter {
	t.Helper()
	rule, err := s.Bind(r)
	if err != nil {
		t.Fatalf("%s.Bind(%+v): %v", s.Name(), r, err)
	}
	return &counter{rule: rule, state: make(State, rule.Words())}
}

// clone is an independent copy.
func (c *counter) clone() *counter {
	return &counter{c.rule, slices.Clone(c.state), c.phase}
}

// reclaim forgets the state where its time is over, as stores do.
func (c *counter) reclaim(now int64) {
	if until := c.rule.Until(c.state); until != 0 && until <= now {
		c.state = make(State, c.rule.Words())
	}
}

func (c *counter) peek(now, cost int64) Verdict {
	return Verdict{Judgement: c.judge(now, cost)}
}

func (c *counter) judge(now, cost int64) Judgement {
	return c.rule.Decide(c.state, now, c.phase, cost)
}

func (c *counter) charge(now, cost int64) (rc Receipt) {
	c.state, rc = c.rule.Charge(c.state, now, c.phase, cost)
	return rc
}

func (c *counter) settle(now int64, rc Receipt, delta int64) {
	c.state = c.rule.Settle(c.state, now, c.phase, rc, delta)
}

// take decides and charges as When says.
func (c *counter) take(now, cost int64, when When) Verdict {
	v := c.peek(now, cost)
	if when == Always || v.OK && when == OnAdmit || !v.OK && when == OnRefuse {
		v.Receipt = c.charge(now, cost)
		v.Charged = true
	}
	return v
}

// rates in tests: units per window.
func per(limit int64, window time.Duration) Rate { return Rate{Limit: limit, Window: window} }

const (
	ms  = int64(1_000)
	sec = 1000 * ms
	// epoch is a full day of UTC; timelines count from it.
	epoch = int64(1_700_006_400) * sec / 86_400_000_000 * 86_400_000_000
)

// strategies is every strategy in every setting that has code of its own.
var strategies = map[string]Strategy{
	"fixed-staggered":   FixedWindow{},
	"fixed-clock":       FixedWindow{Align: Clock},
	"fixed-first":       FixedWindow{Align: FirstHit},
	"bucket-staggered":  BucketedWindow{},
	"bucket-clock":      BucketedWindow{Align: Clock},
	"bucket-inclusive":  BucketedWindow{Inclusive: true},
	"sliding-staggered": SlidingWindow{},
	"sliding-clock":     SlidingWindow{Align: Clock},
	"moving":            MovingWindow{Max: ringMax},
	"gcra":              GCRA{},
	"gcra-burst-1":      GCRA{Burst: 1},
	"gcra-burst-4":      GCRA{Burst: 4},
}
