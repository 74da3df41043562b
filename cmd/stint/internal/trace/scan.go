package trace

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// A scanner reads one JSON text from left to right, without copying it: strings
// without escapes are parts of it. encoding/json would cost more than deciding.
type scanner struct {
	text string
	pos  int
}

var errJSON = errors.New("not JSON")

const maxDepth = 64

func (s *scanner) space() {
	for s.pos < len(s.text) && (s.text[s.pos] == ' ' || s.text[s.pos] == '\t' || s.text[s.pos] == '\r' || s.text[s.pos] == '\n') {
		s.pos++
	}
}

// peek is the next character that is not space, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.pos == len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// end is an error where something follows.
func (s *scanner) end() error {
	if s.space(); s.pos < len(s.text) {
		return errJSON
	}
	return nil
}

// object calls field for each name, which reads the value.
func (s *scanner) object(field func(name string) error) error {
	if !s.take('{') {
		return errJSON
	}
	if s.take('}') {
		return nil
	}
	for {
		name, err := s.str()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return errJSON
		}
		if err := field(name); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return errJSON
		}
		s.space()
	}
}

// array calls element for each element, which reads it.
func (s *scanner) array(element func() error) error {
	if !s.take('[') {
		return errJSON
	}
	if s.take(']') {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return errJSON
		}
	}
}

// str reads a string.
func (s *scanner) str() (string, error) {
	if !s.take('"') {
		return "", errJSON
	}
	start := s.pos
	for ; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			return s.text[start : s.pos-1], nil
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			return "", errJSON
		}
	}
	return "", errJSON
}

// escaped reads a string that has escapes; its text begins at start.
func (s *scanner) escaped(start int) (out string, err error) {
	for ; s.pos < len(s.text) && s.text[s.pos] != '"'; s.pos++ {
		if s.text[s.pos] == '\\' {
			s.pos++
		}
	}
	if s.pos >= len(s.text) {
		return "", errJSON
	}
	s.pos++
	if json.Unmarshal([]byte(s.text[start-1:s.pos]), &out) != nil {
		return "", errJSON
	}
	return out, nil
}

// number reads a number as it is spelled.
func (s *scanner) number() (string, error) {
	s.space()
	start := s.pos
	for s.pos < len(s.text) && strings.IndexByte("+-.0123456789eE", s.text[s.pos]) >= 0 {
		s.pos++
	}
	text := s.text[start:s.pos]
	if !isNumber(text) {
		return "", errJSON
	}
	return text, nil
}

// isNumber is JSON's grammar of numbers.
func isNumber(s string) bool {
	digits := func() bool {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n > 0
	}
	s = strings.TrimPrefix(s, "-")
	leading := strings.HasPrefix(s, "0")
	rest := len(s)
	if !digits() || leading && rest-len(s) > 1 {
		return false
	}
	if strings.HasPrefix(s, ".") {
		if s = s[1:]; !digits() {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if !digits() {
			return false
		}
	}
	return s == ""
}

// word reads a string, a number or a boolean as text; "" for null.
func (s *scanner) word() (string, error) {
	switch s.peek() {
	case '"':
		return s.str()
	case 't':
		return "true", s.literal("true")
	case 'f':
		return "false", s.literal("false")
	case 'n':
		return "", s.literal("null")
	}
	return s.number()
}

func (s *scanner) literal(word string) error {
	if !strings.HasPrefix(s.text[s.pos:], word) {
		return errJSON
	}
	s.pos += len(word)
	return nil
}

// skip reads any value and forgets it.
func (s *scanner) skip() error { return s.skipTo(0) }

func (s *scanner) skipTo(depth int) error {
	if depth == maxDepth {
		return errJSON
	}
	switch s.peek() {
	case '{':
		return s.object(func(string) error { return s.skipTo(depth + 1) })
	case '[':
		return s.array(func() error { return s.skipTo(depth + 1) })
	}
	_, err := s.word()
	return err
}

// whole is a number in JSON notation that is whole and not negative.
func whole(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || f > 1<<53 || f != float64(int64(f)) {
		return 0, errors.New("a whole number from 0 on is wanted, not " + text)
	}
	return int64(f), nil
}
