package trace

import (
	"errors"
	"strings"
)

// parseApache reads the common and the combined form of Apache, nginx and many
// others:
//
//	203.0.113.7 - bob [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 2326 "referer" "agent"
//
// What follows is left aside.
func parseApache(text string, e *Entry) error {
	host, rest, ok := strings.Cut(text, " ")
	if !ok || host == "" {
		return errApache
	}
	_, rest, _ = strings.Cut(rest, " ") // the client's own word for its user
	user, rest, ok := cutUser(rest)
	if !ok {
		return errApache
	}
	stamp, rest, ok := strings.Cut(rest, "] ")
	if !ok {
		return errApache
	}
	if e.At, ok = clfTime(stamp); !ok {
		return errors.New("the time in brackets is not understood")
	}
	request, rest, ok := quoted(rest)
	if !ok {
		return errApache
	}
	if !status(rest) {
		return errApache
	}
	e.Client = address(host)
	if !e.Client.IsValid() { // a server that looks names up
		e.AddHeader("Host-Name", host)
	}
	if user != "-" {
		e.UserName = user
	}
	e.request(request)
	_, rest, _ = strings.Cut(strings.TrimPrefix(rest, " "), " ")
	_, rest, _ = strings.Cut(rest, " ")
	if referer, more, ok := quoted(rest); ok {
		e.addKnown("Referer", referer)
		if agent, _, ok := quoted(strings.TrimPrefix(more, " ")); ok {
			e.addKnown("User-Agent", agent)
		}
	}
	return nil
}

var errApache = errors.New("not a line of an access log")

// cutUser reads the user, which may have spaces in it, up to the time.
func cutUser(text string) (user, rest string, ok bool) {
	i := strings.Index(text, " [")
	if i < 0 {
		return "", "", false
	}
	return text[:i], text[i+2:], true
}

// quoted reads a text in quotes, in which quotes are escaped. The escapes stay.
func quoted(text string) (inside, rest string, ok bool) {
	if text == "" || text[0] != '"' {
		return "", "", false
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[1:i], text[i+1:], true
		}
	}
	return "", "", false
}

// status reports whether text begins with a space and three digits.
func status(text string) bool {
	if len(text) < 4 || text[0] != ' ' {
		return false
	}
	for _, c := range []byte(text[1:4]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// request reads GET /a?b=c HTTP/1.1. What clients send instead is no method.
func (e *Entry) request(line string) {
	method, rest, ok := strings.Cut(line, " ")
	if !ok || method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return
	}
	e.Verb = method
	e.URI, _, _ = strings.Cut(rest, " ")
}

// addKnown adds a header field, unless it was not sent.
func (e *Entry) addKnown(name, value string) {
	if value != "" && value != "-" {
		e.Fields = append(e.Fields, Field{name, value})
	}
}
