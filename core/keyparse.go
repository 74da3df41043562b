package core

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxKeyDepth bounds parentheses within parentheses.
const maxKeyDepth = 16

// ParseKey reads the text form of a key source, as policy files and the command
// line have it:
//
//	ip  ip/24/56  user  user_or_ip  route  const:everybody
//	header:X-Api-Key  get:q  post:username  json:email
//	ip+post:username
//	first(get:q,post:q)  each(ip,user)  as(q,first(get:q,post:q))  fold(post:username)
//
// A name with other characters than letters, digits and "-_.[]" is quoted as in
// Go: get:"a+b". White space around words does not matter. The error quotes the
// text, points at the place and shows an example.
func ParseKey(text string) (KeySource, error) {
	p := keyParser{text: text}
	src, err := p.join(0)
	if err == nil && p.pos < len(text) {
		err = p.errorf(p.pos, `expected "+" or the end; an example: ip+post:username`)
	}
	if err != nil {
		return nil, err
	}
	return src, nil
}

type keyParser struct {
	text string
	pos  int
}

func (p *keyParser) errorf(pos int, format string, args ...any) error {
	return fmt.Errorf("key %.300q: at byte %d: "+format, append([]any{p.text, pos}, args...)...)
}

func (p *keyParser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// take skips white space and one c, if it is there.
func (p *keyParser) take(c byte) bool {
	p.space()
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		p.space()
		return true
	}
	return false
}

// join reads terms with "+" between them.
func (p *keyParser) join(depth int) (KeySource, error) {
	var terms []KeySource
	for {
		p.space()
		start := p.pos
		t, err := p.term(depth)
		if err != nil {
			return nil, err
		}
		terms = append(terms, t)
		more := p.take('+')
		if (more || len(terms) > 1) && t.source().op == opEach {
			return nil, p.errorf(start, "each can not be part of another source; an example: each(ip,user+route)")
		}
		if !more {
			break
		}
	}
	if len(terms) == 1 {
		return terms[0], nil
	}
	return Join(terms...), nil
}

// term reads one word with what belongs to it.
func (p *keyParser) term(depth int) (KeySource, error) {
	start := p.pos
	word := p.word()
	switch word {
	case "ip":
		return p.ip(start)
	case "user":
		return ByUser, nil
	case "user_or_ip":
		return ByUserOrIP, nil
	case "route":
		return ByRoute, nil
	case "header":
		return p.named(start, word, ByHeader)
	case "get":
		return p.named(start, word, ByQuery)
	case "post":
		return p.named(start, word, ByForm)
	case "json":
		return p.named(start, word, ByJSON)
	case "const":
		return p.named(start, word, Const)
	case "first", "each", "as", "fold":
		return p.call(start, word, depth)
	case "func":
		return nil, p.errorf(start, "a function has no text form; use ByFunc in Go")
	case "":
		return nil, p.errorf(start, "expected a word such as ip, user or header:X-Api-Key")
	}
	if w := nearestWord(word); w != "" {
		return nil, p.errorf(start, "unknown word %.40q; did you mean %q? An example: %s", word, w, keyExamples[w])
	}
	return nil, p.errorf(start, "unknown word %.40q; there are %s, and ByFunc in Go for the rest", word,
		strings.Join(slices.Sorted(maps.Keys(keyExamples)), ", "))
}

// ip reads the prefix lengths behind ip.
func (p *keyParser) ip(start int) (KeySource, error) {
	bits := [2]int{}
	for i := range bits {
		if !strings.HasPrefix(p.text[p.pos:], "/") {
			if i == 0 {
				return ByIP, nil
			}
			return nil, p.errorf(p.pos, "expected a second prefix length, the one for IPv6; an example: ip/24/56")
		}
		p.pos++
		digits := p.word()
		n, err := strconv.ParseUint(digits, 10, 8)
		if err != nil || digits[0] == '0' {
			return nil, p.errorf(p.pos-len(digits), "expected a prefix length; an example: ip/24/56")
		}
		bits[i] = int(n)
	}
	return p.checked(start, ByIPPrefix(bits[0], bits[1]))
}

// named reads a colon and a name.
func (p *keyParser) named(start int, word string, source func(string) KeySource) (KeySource, error) {
	if !p.take(':') {
		return nil, p.errorf(p.pos, `expected ":" and a name; an example: %s`, keyExamples[word])
	}
	name, err := p.arg(keyExamples[word])
	if err != nil {
		return nil, err
	}
	return p.checked(start, source(name))
}

// call reads what is in the parentheses behind word.
func (p *keyParser) call(start int, word string, depth int) (KeySource, error) {
	example := keyExamples[word]
	if !p.take('(') {
		return nil, p.errorf(p.pos, `expected "("; an example: %s`, example)
	}
	if depth == maxKeyDepth {
		return nil, p.errorf(start, "more than %d parentheses within each other", maxKeyDepth)
	}
	var name string
	if word == "as" {
		var err error
		if name, err = p.arg(example); err != nil {
			return nil, err
		}
		if !p.take(',') {
			return nil, p.errorf(p.pos, `expected "," and a source; an example: %s`, example)
		}
	}
	var args []KeySource
	for {
		src, err := p.join(depth + 1)
		if err != nil {
			return nil, err
		}
		if args = append(args, src); !p.take(',') {
			break
		}
	}
	if !p.take(')') {
		return nil, p.errorf(p.pos, `expected "," or ")"; an example: %s`, example)
	}
	if (word == "as" || word == "fold") && len(args) > 1 {
		return nil, p.errorf(start, "%s takes one source; an example: %s", word, example)
	}
	switch word {
	case "first":
		return p.checked(start, FirstOf(args...))
	case "each":
		return p.checked(start, Each(args...))
	case "as":
		return p.checked(start, As(name, args[0]))
	}
	return p.checked(start, Fold(args[0]))
}

func (p *keyParser) checked(start int, src KeySource) (KeySource, error) {
	if err := src.source().err; err != nil {
		return nil, p.errorf(start, "%w", err)
	}
	return src, nil
}

// word reads letters, digits and "_".
func (p *keyParser) word() string {
	start := p.pos
	for p.pos < len(p.text) && isPlain(p.text[p.pos]) && strings.IndexByte("-.[]", p.text[p.pos]) < 0 {
		p.pos++
	}
	return p.text[start:p.pos]
}

// arg reads a name, quoted or not.
func (p *keyParser) arg(example string) (string, error) {
	start := p.pos
	if quoted, err := strconv.QuotedPrefix(p.text[start:]); err == nil && quoted[0] == '"' {
		p.pos += len(quoted)
		return strconv.Unquote(quoted)
	}
	for p.pos < len(p.text) && isPlain(p.text[p.pos]) {
		p.pos++
	}
	if p.pos == start {
		return "", p.errorf(start, "expected a name, in double quotes if it has special characters; an example: %s", example)
	}
	return p.text[start:p.pos], nil
}

// quoteArg is the text form of a name, as arg reads it.
func quoteArg(name string) string {
	for i := range len(name) {
		if !isPlain(name[i]) {
			return strconv.Quote(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}

// isPlain reports whether c needs no quotes in a name.
func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_.[]", c) >= 0
}

var keyExamples = map[string]string{
	"ip": "ip", "user": "user", "user_or_ip": "user_or_ip", "route": "route",
	"header": "header:X-Api-Key", "get": "get:q", "post": "post:username", "json": "json:email",
	"const": "const:everybody", "first": "first(get:q,post:q)", "each": "each(ip,user)",
	"as": "as(q,first(get:q,post:q))", "fold": "fold(post:username)",
}

// keySynonyms are words that people use for ours and that are spelled otherwise.
var keySynonyms = map[string]string{
	"query": "get", "param": "get", "form": "post", "field": "post", "body": "json",
	"address": "ip", "addr": "ip", "client": "ip", "remote": "ip", "path": "route", "url": "route",
	"account": "user", "username": "user", "login": "user", "all": "const", "lower": "fold",
}

// nearestWord is the word of the text form that was probably meant, "" where
// more than half of it would have to change.
func nearestWord(word string) string {
	word = strings.ToLower(word[:min(len(word), 40)])
	if w, ok := keySynonyms[word]; ok {
		return w
	}
	best, least := "", len(word)/2+1
	for _, w := range slices.Sorted(maps.Keys(keyExamples)) {
		if d := editDistance(word, w); d < least {
			best, least = w, d
		}
	}
	return best
}

// editDistance is the number of bytes to insert, delete or replace.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
