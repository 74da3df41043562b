package core

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A KeySource says whom a request is counted for. It is built by the functions
// below or by ParseKey, is immutable and safe for concurrent use. Its String is
// its text form, which ParseKey reads (ByFunc excepted).
//
// The constructors never fail: what is wrong with their arguments is an error of
// New, together with all others.
type KeySource interface {
	String() string
	source() *source
}

// ByIP is the client's address, cut to the prefix that counts as one client:
// Config.IPv4Prefix and IPv6Prefix. Text: ip
var ByIP KeySource = ipSource

// ipSource is ByIP, whatever becomes of the variable.
var ipSource = newSource(source{op: opIP, text: "ip", anchored: true})

// ByUser is what Config.User answers; New refuses it without that function.
// Text: user
var ByUser KeySource = newSource(source{op: opValue, kind: KindUser, text: "user", needsUser: true, anchored: true,
	get: func(r *request, _ string) string { return r.User() }})

// ByUserOrIP is the user, and the client's address where there is none. A user
// who is called like an address is not that address. Text: user_or_ip
var ByUserOrIP KeySource = newSource(source{op: opFirst, text: "user_or_ip", subs: []*source{ByUser.source(), ipSource}})

// ByRoute is the route's template with the method. HEAD counts as GET, all
// unusual methods as one. Requests without a known route share one cell.
// Text: route
var ByRoute KeySource = newSource(source{op: opRoute, text: "route"})

// ByIPPrefix is ByIP with prefix lengths of its own: 8 to 32 bits of an IPv4
// address, 32 to 128 of an IPv6 one. Text: ip/24/56
func ByIPPrefix(v4, v6 int) KeySource {
	s := source{op: opIP, text: "ip/" + strconv.Itoa(v4) + "/" + strconv.Itoa(v6), anchored: true}
	cut, err := newIPCut(v4, v6)
	if err != nil || v4 == 0 || v6 == 0 {
		s.err = fmt.Errorf("prefix lengths %d and %d: write 8 to 32 for IPv4 and 32 to 128 for IPv6, as in ip/24/56", v4, v6)
	}
	s.cut = cut
	return newSource(s)
}

// ByHeader is the first value of a request header field. The client can send
// what it likes: join it with ByIP, or limit by address as well. It can not see
// Host, which frameworks keep elsewhere. Text: header:X-Api-Key
func ByHeader(name string) KeySource {
	s := source{op: opValue, kind: KindHeader, name: canonicalHeader(name), chosen: true,
		get: func(r *request, name string) string { return r.Header(name) }}
	s.text = "header:" + quoteArg(s.name)
	switch {
	case !isToken(name):
		s.err = fmt.Errorf("%q is no header field name; an example: header:X-Api-Key", name)
	case s.name == "Host":
		s.err = errors.New("frameworks do not keep Host with the header fields; use ByFunc")
	}
	return newSource(s)
}

// ByQuery is the first value of a query parameter. The client can send what it
// likes. Text: get:q
func ByQuery(name string) KeySource {
	return byName("get", KindQuery, name, func(r *request, name string) string { return r.Query(name) })
}

// ByForm is the first value of a field of the body, urlencoded or multipart,
// files excepted: see Request.Form. The client can send what it likes. Read the
// same in the handler: r.FormValue of net/http and Fiber's c.FormValue look into
// the query too, and a client could put there what is not counted. r.PostFormValue,
// Gin's c.PostForm and Fiber's c.Request().PostArgs() do not.
// Text: post:username
func ByForm(name string) KeySource {
	return byName("post", KindForm, name, (*request).Form)
}

// ByJSON is a top-level string, number or boolean of a JSON body: see
// Request.JSON. The client can send what it likes. Text: json:email
func ByJSON(name string) KeySource {
	return byName("json", KindJSON, name, (*request).JSON)
}

func byName(word string, kind Kind, name string, get func(*request, string) string) KeySource {
	return newSource(source{op: opValue, kind: kind, name: name, get: get, chosen: true,
		text: word + ":" + quoteArg(name), err: checkName(name)})
}

// ByFunc is what f answers, under a name; "" is a missing value. f must be safe
// for concurrent use and must not change the request. It has no text form.
func ByFunc(name string, f func(Request) string) KeySource {
	s := source{op: opValue, kind: KindNamed, name: name, text: "func:" + quoteArg(name), err: checkName(name),
		get: func(r *request, _ string) string { return f(r) }}
	if f == nil {
		s.err = errors.Join(s.err, fmt.Errorf("ByFunc(%q): the function is nil", name))
	}
	return newSource(s)
}

// Const is the same for all requests. Text: const:everybody
func Const(value string) KeySource {
	s := source{op: opConst, name: value, text: "const:" + quoteArg(value)}
	if len(value) > maxValue {
		s.err = fmt.Errorf("a constant has at most %d bytes", maxValue)
	}
	return newSource(s)
}

// Join is the identity of all sources together: Join(ByIP, ByForm("username"))
// counts each name tried from each address by itself. Text: ip+post:username
func Join(sources ...KeySource) KeySource {
	s := compound("Join", sources...)
	s.op = opJoin
	s.text = joinTexts(s.subs, "+")
	var flat []*source
	for _, sub := range s.subs {
		if sub.op == opJoin {
			flat = append(flat, sub.subs...)
		} else {
			flat = append(flat, sub)
		}
	}
	s.subs = flat
	return newSource(s)
}

// FirstOf is the first source that has a value. The sources keep their kinds: a
// query parameter is not the form field of that name. See As.
// Text: first(get:q,post:q)
func FirstOf(sources ...KeySource) KeySource {
	s := compound("FirstOf", sources...)
	s.op = opFirst
	s.text = "first(" + joinTexts(s.subs, ",") + ")"
	return newSource(s)
}

// Each counts the request for every one of several identities, all or nothing:
// Each(ByIP, ByForm("username")) refuses when either has used up the limit. It
// can not be part of another source. Where MissingSkip leaves out one identity,
// the others still count. Text: each(ip,post:username)
func Each(sources ...KeySource) KeySource {
	s := compound("Each", sources...)
	s.op = opEach
	s.text = "each(" + joinTexts(s.subs, ",") + ")"
	return newSource(s)
}

// As gives values a common name instead of where they come from: As("q",
// FirstOf(ByQuery("q"), ByForm("q"))) is one identity, whichever way q is sent.
// Addresses, routes and joined parts stay as they are, under the name.
// Text: as(q,first(get:q,post:q))
func As(name string, src KeySource) KeySource {
	s := compound("As", src)
	s.op, s.name = opAs, name
	s.text = "as(" + quoteArg(name) + "," + joinTexts(s.subs, "+") + ")"
	s.err = errors.Join(s.err, checkName(name))
	return newSource(s)
}

// Fold makes spellings of one value share a cell: white space around it is cut
// off and upper case becomes lower case, in all of Unicode. What else looks or
// means the same stays apart: composed and decomposed accents, full-width
// letters, ß and ss, invisible characters, dots in a mail address. Only fold
// what the application does not tell apart either, such as user names: never
// tokens. Text: fold(post:username)
func Fold(src KeySource) KeySource {
	s := compound("Fold", src)
	if len(s.subs) == 0 {
		return newSource(s)
	}
	c := s.subs[0].folded()
	c.text = "fold(" + c.text + ")"
	return newSource(*c)
}

// folded is s with all values that come with the request folded.
func (s *source) folded() *source {
	c := *s
	c.fold = true
	c.subs = make([]*source, len(s.subs))
	for i, sub := range s.subs {
		c.subs[i] = sub.folded()
	}
	return &c
}

// An op is what a source does.
type op uint8

const (
	opValue op = iota // one text value, by get
	opIP
	opRoute
	opConst
	opJoin
	opFirst
	opEach
	opAs
)

// A source is every KeySource.
type source struct {
	op     op
	kind   Kind // opValue
	name   string
	get    func(r *request, name string) string // opValue
	cut    ipCut                                // opIP; zero is the Limiter's
	fold   bool                                 // opValue
	subs   []*source
	text   string
	absent string // the encoded part that stands for a missing value of this source
	err    error  // what is wrong with the arguments

	needsUser bool // Config.User has to be there
	chosen    bool // the client chooses at least a part of the key ...
	anchored  bool // ... and this part it can not choose freely: its address or user
}

func (s *source) String() string  { return s.text }
func (s *source) source() *source { return s }

// clientChosen reports whether a client can make as many identities as it likes.
func (s *source) clientChosen() bool { return s.chosen && !s.anchored }

// newSource completes a source.
func newSource(s source) *source {
	for i, sub := range s.subs {
		s.needsUser = s.needsUser || sub.needsUser
		s.chosen = s.chosen || sub.chosen
		switch {
		case s.op == opFirst && i > 0: // the client picks one by leaving out the others
			s.anchored = s.anchored && sub.anchored
		default:
			s.anchored = s.anchored || sub.anchored
		}
	}
	k := KeyOf(KindMissing, s.text, "")
	s.absent = string(k.Append(nil))
	return &s
}

// compound is a source made of others, without its op and text.
func compound(word string, sources ...KeySource) source {
	var s source
	if len(sources) == 0 {
		s.err = fmt.Errorf("%s of nothing; name at least one source", word)
	}
	for _, src := range sources {
		if src == nil {
			s.err = errors.Join(s.err, fmt.Errorf("%s: a source is nil", word))
			continue
		}
		sub := src.source()
		if sub.op == opEach && word != "Fold" {
			s.err = errors.Join(s.err, fmt.Errorf("%s: %s can not be part of another source", word, sub.text))
		}
		s.err = errors.Join(s.err, sub.err)
		s.subs = append(s.subs, sub)
	}
	return s
}

func joinTexts(subs []*source, sep string) string {
	texts := make([]string, len(subs))
	for i, sub := range subs {
		texts[i] = sub.text
	}
	return strings.Join(texts, sep)
}

// checkName accepts names of parameters and fields.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty; an example: post:username")
	case len(name) > 256:
		return fmt.Errorf("the name %.20q... has %d bytes; at most 256 fit", name, len(name))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("the name %q has control characters or is not UTF-8", name)
	}
	return nil
}
