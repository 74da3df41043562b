package memcachedlimit

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stint-go/stint/core"
)

const (
	movingWindow = "moving-window"
	// maxValue is how long an item may be: memcached's limit is 2^20 bytes unless
	// it is told otherwise (-I), with the key and what it notes beside it.
	maxValue = 1_000_000
	// maxLog is how many units a log may have: each is two words of 16 digits at
	// most and the spaces before them.
	maxLog = maxValue / 34
)

// parseState reads a cell that is one item: its words as decimal numbers with
// spaces between, and nothing where it is empty. A log is pairs of an instant
// and the units charged at it. room is a state of as many words as the rule has,
// to be used where it is enough.
func parseState(rule core.Rule, item *memcache.Item, room core.State) (core.State, error) {
	n := rule.Words()
	if item == nil || len(item.Value) == 0 {
		if n == 0 {
			return nil, nil
		}
		clear(room)
		return room, nil
	}
	s, ok := parseWords(string(item.Value), room[:0])
	switch {
	case !ok, n > 0 && len(s) != n:
		return nil, foreign(item.Key)
	case isLog(rule):
		if !orderly(s) {
			return nil, foreign(item.Key)
		}
		return core.LogState(s), nil
	}
	return s, nil
}

func parseWords(text string, words []int64) (_ []int64, ok bool) {
	for word := range strings.SplitSeq(text, " ") {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 || n > maxWord {
			return nil, false
		}
		words = append(words, n)
	}
	return words, true
}

// parseCount reads a counter.
func parseCount(item *memcache.Item) (int64, error) {
	if item == nil {
		return 0, nil
	}
	// decr leaves spaces where a number has become shorter.
	n, err := strconv.ParseUint(string(bytes.TrimRight(item.Value, " ")), 10, 64)
	if err != nil || n > maxWord {
		return 0, foreign(item.Key)
	}
	return int64(n), nil
}

// orderly tells whether words are those of a log.
func orderly(pairs []int64) bool {
	for i := 0; i < len(pairs); i += 2 {
		if i+1 == len(pairs) || pairs[i+1] == 0 || i > 0 && pairs[i] <= pairs[i-2] {
			return false
		}
	}
	return true
}

func isLog(rule core.Rule) bool {
	p, ok := rule.(core.Programmed)
	return ok && p.Program().Strategy == movingWindow
}

// appendState writes what parseState reads. A state that is over is written as
// nothing.
func appendState(b []byte, rule core.Rule, s core.State) []byte {
	if len(s) == 0 || rule.Until(s) == 0 {
		return b
	}
	if isLog(rule) {
		s = core.LogPairs(s)
	}
	for i, w := range s {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, w, 10)
	}
	return b
}
