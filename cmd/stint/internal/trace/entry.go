// Package trace reads recorded traffic: access logs in the usual forms, and JSON
// lines of instants, keys and costs.
package trace

import (
	"context"
	"net/netip"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/stint-go/stint/core"
)

// An Op is what an entry asks for.
type Op uint8

const (
	Take   Op = iota // may this cost be charged?
	Peek             // would it be? Nothing is charged
	Refund           // give back units of the key's latest charge
)

// String is take, peek or refund.
func (o Op) String() string { return [...]string{"take", "peek", "refund"}[o] }

// An Entry is one recorded request. Its strings are parts of the Batch that it
// came with. It is a core.Native, so that the policies' own keys are found in it.
type Entry struct {
	At      int64 // microseconds since the Unix epoch, or since the trace's own 0
	Op      Op
	Cost    int64 // units, where HasCost
	HasCost bool
	// Keys are identities that are counted as they are, in place of what the
	// policies' key sources would find; nil where the attributes below tell.
	Keys []string
	one  [1]string // Keys, where it is one

	Verb, URI, Template, UserName string
	Client                        netip.Addr
	Fields                        []Field // header fields
	Form, Args                    []Field // of the body, and of the query
	Document                      string  // a JSON body
}

// A Field is a name and a value.
type Field struct{ Name, Value string }

var _ core.Native = (*Entry)(nil)

// SetKey makes key the entry's only identity.
func (e *Entry) SetKey(key string) { e.one[0] = key; e.Keys = e.one[:] }

// Context implements core.Native.
func (e *Entry) Context() context.Context { return context.Background() }

// Method implements core.Native; where none was recorded it is GET.
func (e *Entry) Method() string {
	if e.Verb == "" {
		return "GET"
	}
	return e.Verb
}

// Path implements core.Native.
func (e *Entry) Path() string { path, _, _ := strings.Cut(e.URI, "?"); return path }

// Route implements core.Native. Logs know no templates: where none was recorded,
// it is the path.
func (e *Entry) Route() string {
	if e.Template != "" {
		return e.Template
	}
	return e.Path()
}

// Peer implements core.Native.
func (e *Entry) Peer() netip.Addr { return e.Client }

// Header implements core.Native.
func (e *Entry) Header(name string) string {
	name = textproto.CanonicalMIMEHeaderKey(name)
	if name == "Content-Type" {
		return e.contentType()
	}
	return first(e.Fields, name)
}

// HeaderValues implements core.Native.
func (e *Entry) HeaderValues(name string) (values []string) {
	name = textproto.CanonicalMIMEHeaderKey(name)
	for _, f := range e.Fields {
		if f.Name == name {
			values = append(values, f.Value)
		}
	}
	return values
}

// Query implements core.Native.
func (e *Entry) Query(name string) string {
	if e.Args != nil {
		return first(e.Args, name)
	}
	_, query, _ := strings.Cut(e.URI, "?")
	if query == "" {
		return ""
	}
	values, _ := url.ParseQuery(query) // what can be read counts, as with net/http
	return values.Get(name)
}

// Body implements core.Native.
func (e *Entry) Body(limit int) ([]byte, error) {
	body := e.Document
	if e.Form != nil {
		values := url.Values{}
		for _, f := range e.Form {
			values.Add(f.Name, f.Value)
		}
		body = values.Encode()
	}
	if len(body) > limit {
		return nil, core.ErrBodyTooLarge
	}
	return []byte(body), nil
}

// Unwrap implements core.Native.
func (e *Entry) Unwrap() any { return e }

// User is who sent the request, for core.Config.User.
func User(r core.Request) string {
	e, _ := r.Unwrap().(*Entry)
	if e == nil {
		return ""
	}
	return e.UserName
}

func (e *Entry) contentType() string {
	switch {
	case e.Form != nil:
		return "application/x-www-form-urlencoded"
	case e.Document != "":
		return "application/json"
	}
	return first(e.Fields, "Content-Type")
}

// AddHeader adds a header field.
func (e *Entry) AddHeader(name, value string) {
	e.Fields = append(e.Fields, Field{textproto.CanonicalMIMEHeaderKey(name), value})
}

func first(fields []Field, name string) string {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// address reads an address with or without a port; garbage is no address.
func address(text string) netip.Addr {
	if a, err := netip.ParseAddr(text); err == nil {
		return a
	}
	ap, _ := netip.ParseAddrPort(text)
	return ap.Addr()
}
