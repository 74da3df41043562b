package core

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// A Rate is a limit of units per window. The zero Rate refuses everything.
//
// Its text form is what ParseRate reads: "100/m", "5/10s", "240/h@1m".
type Rate struct {
	// Limit is the number of units admitted per window; 0 refuses everything.
	Limit int64
	// Window is the length of the window: at least a millisecond, whole
	// microseconds, at most 366 days.
	Window time.Duration
	// Precision is the length of a sub-window, for BucketedWindow only; 0
	// leaves it to the strategy.
	Precision time.Duration
}

// Rates are limits that hold together: a request must fit every one of them.
// Their windows differ. Empty Rates that are not nil are "none": no limit. Nil
// says that nothing was set; it has no text form.
type Rates []Rate

// String is the rate in canonical notation: the largest of the units d h m s ms
// us that divides it, as in "100/m", "5/10s", "240/h@1m". ParseRate gives the
// same Rate back if it is valid; the zero Rate is written "0/s".
func (r Rate) String() string { return string(r.appendText(nil)) }

// String is the rates in canonical notation, joined with "; "; "none" for no
// limit and "" for nil.
func (rs Rates) String() string {
	if rs == nil {
		return ""
	}
	if len(rs) == 0 {
		return "none"
	}
	var b []byte
	for i, r := range rs {
		if i > 0 {
			b = append(b, "; "...)
		}
		b = r.appendText(b)
	}
	return string(b)
}

// MarshalText is String, for rates that ParseRate can read back; others are an
// error that names the value out of range.
func (r Rate) MarshalText() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return r.appendText(nil), nil
}

// UnmarshalText is ParseRate. On an error the rate stays as it was.
func (r *Rate) UnmarshalText(text []byte) error {
	parsed, err := ParseRate(string(text))
	if err == nil {
		*r = parsed
	}
	return err
}

// MarshalText is String, for rates that ParseRates can read back. Nil Rates are
// an error: leave the field out, or write Rates{} for no limit.
func (rs Rates) MarshalText() ([]byte, error) {
	if rs == nil {
		return nil, errors.New(`stint: rates are not set; use core.Rates{} for no limit`)
	}
	if err := rs.check(); err != nil {
		return nil, err
	}
	return []byte(rs.String()), nil
}

// UnmarshalText is ParseRates. On an error the rates stay as they were.
func (rs *Rates) UnmarshalText(text []byte) error {
	parsed, err := ParseRates(string(text))
	if err == nil {
		*rs = parsed
	}
	return err
}

// check tells what of a rate made by hand is out of range.
func (r Rate) check() error {
	switch {
	case r == Rate{}:
		return nil
	case r.Limit < 0 || r.Limit > MaxLimit:
		return fmt.Errorf("stint: rate %v: the limit must be within 0 and %d", r, MaxLimit)
	case !validPeriod(r.Window):
		return fmt.Errorf("stint: rate %v: the window must be %s", r, periodRange)
	case r.Precision != 0 && !validPeriod(r.Precision):
		return fmt.Errorf("stint: rate %v: the precision must be %s", r, periodRange)
	}
	return nil
}

// check tells what is wrong with rates made by hand or by a function.
func (rs Rates) check() error {
	if len(rs) > maxRates {
		return fmt.Errorf("stint: %d rates; at most %d hold together", len(rs), maxRates)
	}
	for i, r := range rs {
		if err := r.check(); err != nil {
			return err
		}
		for _, earlier := range rs[:i] {
			if earlier.Window == r.Window {
				return fmt.Errorf("stint: rates %v and %v have the same window; keep one", earlier, r)
			}
		}
	}
	return nil
}

const periodRange = "whole microseconds, 1ms at least and 366d at most"

func validPeriod(d time.Duration) bool {
	return d >= time.Millisecond && d <= time.Duration(MaxWindow)*time.Microsecond && d%time.Microsecond == 0
}

func (r Rate) appendText(b []byte) []byte {
	if r == (Rate{}) {
		return append(b, "0/s"...)
	}
	b = append(strconv.AppendInt(b, r.Limit, 10), '/')
	if n, unit := periodText(r.Window); n == 1 {
		b = append(b, unit...) // "100/m", not "100/1m"
	} else {
		b = append(strconv.AppendInt(b, n, 10), unit...)
	}
	if r.Precision != 0 {
		n, unit := periodText(r.Precision)
		b = append(strconv.AppendInt(append(b, '@'), n, 10), unit...)
	}
	return b
}

// periodText is a length of time as a whole number of the largest unit that
// divides it: 1 and "m", 90 and "s".
func periodText(d time.Duration) (n int64, unit string) {
	for _, u := range rateUnits {
		if u.canonical && d%u.length == 0 {
			return int64(d / u.length), u.short
		}
	}
	return int64(d), "ns" // out of range: ParseRate refuses it
}
