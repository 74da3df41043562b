package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// jsonValue is a top-level field of a JSON object as text: a string's content,
// true, false, or a number in one spelling. "" stands for null, for no such
// field and for a document that is no object. An object or array in its place
// is broken, and so is a name that appears twice: encoding/json matches names
// without regard to case and lets the last one win, other decoders do not, and
// the client could show each of them another value.
func jsonValue(body []byte, name string) (string, error) {
	if !json.Valid(body) { // also bounds the depth, and refuses what follows the document
		return "", fmt.Errorf("%w: json", ErrBodyBroken)
	}
	var found []byte
	for key, val := range jsonFields(body) {
		if s, err := jsonString(key); err != nil || !strings.EqualFold(s, name) {
			continue
		}
		if found != nil {
			return "", fmt.Errorf("%w: json: a name appears twice", ErrBodyBroken)
		}
		found = val
	}
	return jsonScalar(found)
}

// jsonFields walks over the fields of a valid document's top-level object, as
// they are spelled. It yields nothing for other documents.
func jsonFields(doc []byte) func(yield func(key, val []byte) bool) {
	return func(yield func(key, val []byte) bool) {
		i := skipSpace(doc, 0)
		if doc[i] != '{' {
			return
		}
		for doc[i] != '}' { // at the object's brace, a comma, or the end
			i = skipSpace(doc, i+1)
			if doc[i] == '}' {
				return
			}
			start, end := i, skipValue(doc, i)
			i = skipSpace(doc, end)    // the colon
			val := skipSpace(doc, i+1) // the value
			i = skipValue(doc, val)
			if !yield(doc[start:end], doc[val:i]) {
				return
			}
			i = skipSpace(doc, i)
		}
	}
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r' {
		i++
	}
	return i
}

// skipValue is the index behind the value that begins at i inside an object.
func skipValue(b []byte, i int) int {
	for depth := 0; ; i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
}

// jsonString is the content of a string literal.
func jsonString(lit []byte) (s string, err error) {
	err = json.Unmarshal(lit, &s)
	return s, err
}

func jsonScalar(lit []byte) (string, error) {
	if len(lit) == 0 {
		return "", nil
	}
	switch lit[0] {
	case 'n':
		return "", nil
	case 't', 'f':
		return string(lit), nil
	case '"':
		return jsonString(lit)
	case '{', '[':
		return "", fmt.Errorf("%w: json: an object or array where a key is expected", ErrBodyBroken)
	}
	return jsonNumber(string(lit))
}

// jsonNumber gives 1, 1.0 and 10e-1 one spelling. Integers keep every digit.
func jsonNumber(lit string) (string, error) {
	if !strings.ContainsAny(lit, ".eE") && lit != "-0" {
		return lit, nil
	}
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil {
		return "", fmt.Errorf("%w: json: number out of range", ErrBodyBroken)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatInt(int64(f), 10), nil
	}
	return strconv.FormatFloat(f, 'g', -1, 64), nil
}

// looksJSON reports whether a body is to be read as JSON. Many handlers decode
// it without a look at the Content-Type, so that an object is one whatever it
// is called; and what is called JSON has to be JSON.
func looksJSON(media string, body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 {
		return false
	}
	return body[0] == '{' || media == "application/json" || strings.HasSuffix(media, "+json")
}
