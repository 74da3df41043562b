package core

import (
	"fmt"
	"strings"
	"time"
)

// Limits of the notation. The longest list in canonical notation fits.
const (
	maxRates    = 16
	maxRateText = 1024
)

// rateUnits are the units of the notation, the longest first. Each is written
// short, long, or long with an "s". There are no other abbreviations: "mo" and
// "min" are too easily each other.
var rateUnits = [...]struct {
	short, long string
	length      time.Duration
	canonical   bool // String writes it
}{
	{"", "year", 365 * 24 * time.Hour, false},
	{"", "month", 30 * 24 * time.Hour, false},
	{"w", "week", 7 * 24 * time.Hour, false},
	{"d", "day", 24 * time.Hour, true},
	{"h", "hour", time.Hour, true},
	{"m", "minute", time.Minute, true},
	{"s", "second", time.Second, true},
	{"ms", "millisecond", time.Millisecond, true},
	{"us", "microsecond", time.Microsecond, true},
}

// ParseRate reads one rate. Its grammar is that of ParseRates; "none" and lists
// are errors.
func ParseRate(text string) (Rate, error) {
	rates, err := ParseRates(text)
	if err != nil {
		return Rate{}, err
	}
	if len(rates) != 1 {
		return Rate{}, fmt.Errorf("stint: rate %s: exactly one rate is wanted, not %d; write for example %s",
			excerpt(text, maxExcerpt), len(rates), exampleRate)
	}
	return rates[0], nil
}

// ParseRates reads rates as people write them:
//
//	100/m                100 per minute
//	100/5m  100/300      100 per five minutes; a bare number after "/" is seconds
//	5 per 10 seconds     the same in words
//	10/s; 1000/d         both; also joined with "," or "|"
//	240/h@1m             with sub-windows of a minute (Rate.Precision)
//	0/s                  refuses everything
//	none, unlimited      no limit: empty Rates, not nil
//
// The units are us, ms, s, m (minute), h, d, w, also written microsecond,
// millisecond, second, minute, hour, day and week, month (30 days) and year (365
// days), singular or plural; words in any case. Spaces and tabs between the
// parts are free. Everything else is an error that quotes the text and points
// at the place: other digits than ASCII, signs, fractions, what follows a rate,
// limits above MaxLimit, windows below a millisecond or above 366 days, equal
// windows in one list, more than 16 rates or 1024 bytes, and the empty string.
func ParseRates(text string) (Rates, error) {
	p := rateParser{text: text}
	if len(text) > maxRateText {
		return nil, p.fail(maxRateText, fmt.Sprintf("longer than %d bytes", maxRateText), exampleRate)
	}
	if p.atEnd() {
		return nil, fmt.Errorf("stint: rate %s: empty; write for example %s, or \"none\" for no limit",
			excerpt(text, maxExcerpt), exampleRate)
	}
	if word := p.word(); (strings.EqualFold(word, "none") || strings.EqualFold(word, "unlimited")) && p.atEnd() {
		return Rates{}, nil
	}
	p.pos = 0
	rates := make(Rates, 0, 1)
	for {
		p.space()
		start := p.pos
		r, err := p.rate()
		if err != nil {
			return nil, err
		}
		for _, earlier := range rates {
			if earlier.Window == r.Window {
				return nil, p.fail(start, "same window as an earlier rate", exampleRates)
			}
		}
		if len(rates) == maxRates {
			return nil, p.fail(start, fmt.Sprintf("more than %d rates", maxRates), exampleRates)
		}
		rates = append(rates, r)
		if p.atEnd() {
			return rates, nil
		}
		if !p.take(';') && !p.take(',') && !p.take('|') {
			return nil, p.fail(p.pos, "unexpected text after a rate", exampleRates)
		}
	}
}

// What errors show as right.
const (
	exampleRate  = `"100/m" or "5 per 10 seconds"`
	exampleRates = `"10/s; 1000/d"`
)

// A rateParser reads text from left to right and never goes back, so its time
// is linear.
type rateParser struct {
	text string
	pos  int
}

func (p *rateParser) rate() (r Rate, err error) {
	if r.Limit, err = p.number(MaxLimit, "the limit is above 2147483648,"); err != nil {
		return r, err
	}
	p.space()
	slash := p.take('/')
	if !slash && !p.takePer() {
		return r, p.fail(p.pos, `"/" or "per" is missing`, exampleRate)
	}
	if r.Window, err = p.period("window", slash); err != nil {
		return r, err
	}
	p.space()
	if p.take('@') {
		r.Precision, err = p.period("precision", true)
	}
	return r, err
}

// period reads [n] unit or, where a bare number stands for seconds, n alone.
func (p *rateParser) period(what string, seconds bool) (time.Duration, error) {
	p.space()
	outOfRange := "the " + what + " must be 1ms at least and 366d at most,"
	start, n, counted := p.pos, int64(1), false
	if p.atDigit() {
		var err error
		if n, err = p.number(MaxWindow, outOfRange); err != nil {
			return 0, err
		}
		counted = true
		p.space()
	}
	at := p.pos
	unit, ok := unitLength(p.word())
	switch {
	case ok:
	case at < p.pos:
		return 0, p.fail(at, "unknown unit (known are ms, s, m, h, d, w, month, year)", exampleRate)
	case counted && seconds:
		unit = time.Second
	default:
		return 0, p.fail(at, "a unit is missing", exampleRate)
	}
	maxDuration := time.Duration(MaxWindow) * time.Microsecond
	if n > int64(maxDuration/unit) || !validPeriod(time.Duration(n)*unit) {
		return 0, p.fail(start, outOfRange, exampleRate)
	}
	return time.Duration(n) * unit, nil
}

func unitLength(word string) (time.Duration, bool) {
	// EqualFold folds more than ASCII, but word has ASCII letters only.
	for _, u := range rateUnits {
		if strings.EqualFold(word, u.long) || strings.EqualFold(word, u.long+"s") ||
			u.short != "" && strings.EqualFold(word, u.short) {
			return u.length, true
		}
	}
	return 0, false
}

// number reads ASCII digits, at most limit; above is the complaint if more.
func (p *rateParser) number(limit int64, above string) (int64, error) {
	start, n := p.pos, int64(0)
	for ; p.atDigit(); p.pos++ {
		// limit is below 2^53, so one more digit can not overflow.
		if n = n*10 + int64(p.text[p.pos]-'0'); n > limit {
			return 0, p.fail(start, above, exampleRate)
		}
	}
	if p.pos == start {
		return 0, p.fail(start, "a whole number is missing", exampleRate)
	}
	return n, nil
}

// word reads ASCII letters, "" if there are none.
func (p *rateParser) word() string {
	start := p.pos
	for p.pos < len(p.text) {
		if c := p.text[p.pos] | 0x20; c < 'a' || c > 'z' {
			break
		}
		p.pos++
	}
	return p.text[start:p.pos]
}

// takePer takes the word "per", which needs no space on either side.
func (p *rateParser) takePer() bool {
	const per = "per"
	rest := p.text[p.pos:]
	if len(rest) < len(per) || !strings.EqualFold(rest[:len(per)], per) {
		return false
	}
	p.pos += len(per)
	return true
}

func (p *rateParser) take(c byte) bool {
	if p.pos == len(p.text) || p.text[p.pos] != c {
		return false
	}
	p.pos++
	return true
}

func (p *rateParser) space() {
	for p.take(' ') || p.take('\t') {
	}
}

func (p *rateParser) atEnd() bool {
	p.space()
	return p.pos == len(p.text)
}

func (p *rateParser) atDigit() bool {
	return p.pos < len(p.text) && p.text[p.pos]-'0' <= 9
}

// fail is the error of a text that is wrong at a byte offset, in one line for
// logs. The text may come from anywhere: it is quoted, and cut short.
func (p *rateParser) fail(at int, what, example string) error {
	place := " at the end"
	if at < len(p.text) {
		place = fmt.Sprintf(" at %s (byte %d)", excerpt(p.text[at:], 20), at)
	}
	return fmt.Errorf("stint: rate %s: %s%s; write for example %s", excerpt(p.text, maxExcerpt), what, place, example)
}

const maxExcerpt = 80

// excerpt quotes the first n bytes of s.
func excerpt(s string, n int) string {
	if len(s) <= n {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q…", s[:n])
}
