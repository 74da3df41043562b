package trace

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Latest is the last instant that a trace can have, in microseconds since the
// Unix epoch: in the year 2112. What is counted from it stays below 2^53.
const Latest int64 = 1 << 52

// millis reads milliseconds in JSON notation as microseconds; finer fractions are
// cut off.
func millis(text string) (int64, error) { return scaled(text, 3) }

// seconds reads seconds as microseconds.
func seconds(text string) (int64, error) { return scaled(text, 6) }

// scaled reads a decimal number and moves its point to the right. It is exact,
// where a float would round 1700000000000.001.
func scaled(text string, places int) (int64, error) {
	before, after, _ := strings.Cut(text, ".")
	if strings.ContainsAny(text, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, fmt.Errorf("instant %q: a number is wanted", text)
		}
		return inRange(math.Floor(f * math.Pow10(places)))
	}
	if len(after) > places {
		after = after[:places]
	}
	n, err := strconv.ParseInt(before, 10, 64)
	if err != nil || n < 0 || strings.HasPrefix(before, "-") {
		return 0, fmt.Errorf("instant %.40q: write 0 or more", text)
	}
	if n > Latest {
		return 0, errLate
	}
	for i := range places {
		n *= 10
		if i < len(after) {
			if after[i] < '0' || after[i] > '9' {
				return 0, fmt.Errorf("instant %.40q: a number is wanted", text)
			}
			n += int64(after[i] - '0')
		}
		if n > Latest {
			return 0, errLate
		}
	}
	return n, nil
}

var errLate = errors.New("an instant after the year 2112: are these milliseconds?")

func inRange(us float64) (int64, error) {
	if !(us >= 0) {
		return 0, errors.New("an instant before 0")
	}
	if us > float64(Latest) {
		return 0, errLate
	}
	return int64(us), nil
}

// moment reads an instant of a log in any of the notations in use.
func moment(text string) (int64, error) {
	if text == "" {
		return 0, errors.New("no time")
	}
	if isNumber(text) {
		us, err := seconds(text)
		if errors.Is(err, errLate) { // milliseconds, as some loggers write
			return millis(text)
		}
		return us, err
	}
	if us, ok := clfTime(text); ok {
		return us, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006/01/02 15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return inRange(float64(t.UnixMicro()))
		}
	}
	return 0, fmt.Errorf("time %.40q is not understood", text)
}

const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

// clfTime reads 17/May/2015:10:05:03 +0000. time.Parse takes ten times as long.
func clfTime(s string) (us int64, ok bool) {
	if len(s) != 26 || s[2] != '/' || s[6] != '/' || s[11] != ':' || s[14] != ':' || s[17] != ':' || s[20] != ' ' || s[21] != '+' && s[21] != '-' {
		return 0, false
	}
	month := strings.Index(months, s[3:6])
	ok = month >= 0 && month%3 == 0
	number := func(from, to int) int {
		n := 0
		for _, c := range []byte(s[from:to]) {
			ok = ok && c >= '0' && c <= '9'
			n = n*10 + int(c-'0')
		}
		return n
	}
	day, year, hour, minute, second := number(0, 2), number(7, 11), number(12, 14), number(15, 17), number(18, 20)
	zone := (number(22, 24)*60 + number(24, 26)) * 60
	if !ok || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 || year < 1970 {
		return 0, false
	}
	if s[21] == '-' {
		zone = -zone
	}
	t := time.Date(year, time.Month(month/3+1), day, hour, minute, second, 0, time.UTC)
	us = t.UnixMicro() - int64(zone)*1e6
	return us, us >= 0 && us <= Latest && t.Day() == day
}
