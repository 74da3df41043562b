package core

import (
	"testing"

	"github.com/stint-go/stint/internal/oracle"
)

// ruleOf is what internal/oracle knows of a bound strategy.
func ruleOf(t testing.TB, s Strategy, r Rate) oracle.Rule {
	t.Helper()
	rule := newCounter(t, s, r).rule
	burst, _ := rule.Quota()
	return oracle.Rule{Shape: rule.Shape(), Limit: r.Limit, Window: r.Window.Microseconds(), Burst: burst}
}

func oracleOf(t testing.TB, s Strategy, r Rate, phase int64) oracle.Oracle {
	t.Helper()
	return oracle.Of(ruleOf(t, s, r), phase)
}

// alignOf is the alignment that a strategy is set to.
func alignOf(s Strategy) Align {
	switch s := s.(type) {
	case FixedWindow:
		return s.Align
	case BucketedWindow:
		return s.Align
	case SlidingWindow:
		return s.Align
	}
	return Staggered
}
