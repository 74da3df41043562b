package redislimit

import (
	"strconv"
	"strings"

	"github.com/stint-go/stint/core"
)

// maxWord is the largest number that a cell holds: Lua is exact up to here.
const maxWord = 1<<53 - 1

// parseWords reads a cell, or what a program says of one: decimal numbers with
// spaces between.
func parseWords(text string, dst []int64) (words []int64, ok bool) {
	words = dst
	for text != "" {
		word, rest, more := strings.Cut(text, " ")
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 || n > maxWord || more && rest == "" {
			return nil, false
		}
		words, text = append(words, n), rest
	}
	return words, len(words) > 0
}

// parseState is the state in a reply's element: nil for an empty cell, or its
// text. Everything else is foreign. Logs are pairs of a stamp and its units.
func parseState(rule core.Rule, strategy string, element any) (s core.State, ok bool) {
	n := rule.Words()
	if element == nil {
		if n == 0 {
			return nil, true
		}
		return make(core.State, n), true
	}
	text, isText := element.(string)
	if !isText {
		return nil, false
	}
	if s, ok = parseWords(text, make(core.State, 0, max(n, 8))); !ok {
		return nil, false
	}
	switch {
	case strategy == "moving-window":
		if len(s)%2 != 0 {
			return nil, false
		}
		return core.LogState(s), true
	case strategy == "gcra" && len(s) == 2:
		s = append(s, 0, 0)
	}
	return s, n == 0 || len(s) == n
}

// appendState appends a state as its cell holds it: see parseState, and log for
// logs.
func appendState(b []byte, strategy string, s core.State) []byte {
	if strategy == "gcra" && s[2]|s[3] == 0 {
		s = s[:2]
	}
	for i, w := range s {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, w, 10)
	}
	return b
}
