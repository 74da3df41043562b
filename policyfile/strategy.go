package policyfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stint-go/stint/core"
)

// StrategyNames are the strategies that a file can name.
var StrategyNames = []string{"fixed-window", "bucketed-window", "sliding-window", "moving-window", "gcra"}

// Counting is a strategy as text, with its settings: what a file and the flags of
// the command stint say. The zero value is a sliding window, staggered.
type Counting struct {
	Strategy  string        // one of StrategyNames; "" is sliding-window
	Align     string        // first, staggered or clock; "" is staggered
	Precision time.Duration // of a bucketed window; 0 is a tenth of the window or so
	Inclusive bool          // of a bucketed window: the sum includes the current sub-window
	Burst     int64         // of gcra; 0 is the limit
}

// Build is the strategy. Its error is all that is wrong, a setting that the
// strategy does not have included.
func (c Counting) Build() (core.Strategy, error) {
	var errs []error
	name := c.Strategy
	if name == "" {
		name = "sliding-window"
	}
	if !slices.Contains(StrategyNames, name) {
		return nil, fmt.Errorf("unknown strategy %q: use %s", name, oneOf(StrategyNames))
	}
	only := func(set bool, setting, of string) {
		if set && name != of {
			errs = append(errs, fmt.Errorf("%s belongs to %s, not to %s: leave it out", setting, of, name))
		}
	}
	only(c.Precision != 0, "precision", "bucketed-window")
	only(c.Inclusive, "inclusive", "bucketed-window")
	only(c.Burst != 0, "burst", "gcra")
	align, err := parseAlign(c.Align)
	if err != nil {
		errs = append(errs, err)
	}
	if c.Align != "" && (name == "gcra" || name == "moving-window") {
		errs = append(errs, fmt.Errorf("align: %s has no windows to align: leave it out", name))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	switch name {
	case "fixed-window":
		return core.FixedWindow{Align: align}, nil
	case "bucketed-window":
		return core.BucketedWindow{Precision: c.Precision, Inclusive: c.Inclusive, Align: align}, nil
	case "moving-window":
		return core.MovingWindow{}, nil
	case "gcra":
		return core.GCRA{Burst: c.Burst}, nil
	}
	return core.SlidingWindow{Align: align}, nil
}

func parseAlign(text string) (core.Align, error) {
	switch text {
	case "", core.Staggered.String():
		return core.Staggered, nil
	case core.Clock.String():
		return core.Clock, nil
	case core.FirstHit.String():
		return core.FirstHit, nil
	}
	return 0, fmt.Errorf("unknown alignment %q: use first, staggered or clock", text)
}

// oneOf lists words: "a, b or c".
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
