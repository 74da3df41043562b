package core

import (
	"errors"
	"fmt"
	"time"
)

// bound is what every rule keeps of its rate.
type bound struct {
	shape         string
	limit, window int64 // units, microseconds
}

// Shape implements Rule.
func (b *bound) Shape() string { return b.shape }

// Quota implements Rule.
func (b *bound) Quota() (units, window int64) { return b.limit, b.window }

// bind checks what all strategies ask of a rate. Its error holds every complaint.
func bind(name, shape string, r Rate) (bound, error) {
	complain, complaints := complaintsOf(name)
	if r.Limit < 0 || r.Limit > MaxLimit {
		complain("limit %d is out of range: use 0 to %d units", r.Limit, MaxLimit)
	}
	switch longest := time.Duration(MaxWindow) * time.Microsecond; {
	case r.Window < time.Millisecond || r.Window > longest:
		complain("window %v is out of range: use 1ms to %v", r.Window, longest)
	case r.Window%time.Microsecond != 0:
		complain("window %v is not a whole number of microseconds: round it", r.Window)
	}
	if r.Precision != 0 && name != bucketedName {
		complain("precision %v means nothing here: leave it out, or use BucketedWindow", r.Precision)
	}
	return bound{shape: shape, limit: r.Limit, window: r.Window.Microseconds()}, complaints()
}

// complaintsOf collects the complaints about a setting of the named strategy.
func complaintsOf(name string) (complain func(format string, args ...any), complaints func() error) {
	var errs []error
	complain = func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("stint: "+name+": "+format, args...))
	}
	return complain, func() error { return errors.Join(errs...) }
}

// refuseAll is the verdict of a rule whose limit is 0, for every cost.
func refuseAll() Judgement { return Judgement{RetryAfter: Forever, NextAfter: Forever} }

// neverFigures are those of refuseAll.
var neverFigures = Figures{RetryAfter: Forever, NextAfter: Forever}

// fill is how much of cost a count takes before it reaches limit.
func fill(count, cost, limit int64) int64 { return max(0, min(cost, limit-count)) }

// owed is how much of a debt a count takes before it reaches MaxCount.
func owed(count, debt int64) int64 { return max(0, min(debt, MaxCount-count)) }

// refunded is the number of units that a negative delta gives back to a count.
func refunded(count, delta int64) int64 { return min(count, -max(delta, -MaxCount)) }
