package core

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestParseKeyReadsWhatStringWrites(t *testing.T) {
	for text, want := range map[string]KeySource{
		"ip":                      ByIP,
		"ip/24/56":                ByIPPrefix(24, 56),
		"user":                    ByUser,
		"user_or_ip":              ByUserOrIP,
		"route":                   ByRoute,
		"header:X-Api-Key":        ByHeader("x-api-key"),
		"get:q":                   ByQuery("q"),
		"get:filter[name]":        ByQuery("filter[name]"),
		"post:username":           ByForm("username"),
		"json:email":              ByJSON("email"),
		`json:"a+b\n"`:            nil, // a control character
		`json:"a+b, c"`:           ByJSON("a+b, c"),
		"const:everybody":         Const("everybody"),
		`const:""`:                Const(""),
		`const:"\xff\x00"`:        Const("\xff\x00"),
		"ip+post:username":        Join(ByIP, ByForm("username")),
		"ip+user+route":           Join(ByIP, Join(ByUser, ByRoute)),
		"first(get:q,post:q)":     FirstOf(ByQuery("q"), ByForm("q")),
		"first(ip+user,route)":    FirstOf(Join(ByIP, ByUser), ByRoute),
		"each(ip,user)":           Each(ByIP, ByUser),
		"as(q,first(get:q,ip))":   As("q", FirstOf(ByQuery("q"), ByIP)),
		`as("a b",ip+user)`:       As("a b", Join(ByIP, ByUser)),
		"fold(post:username)":     Fold(ByForm("username")),
		"fold(each(ip,post:u))":   Fold(Each(ByIP, ByForm("u"))),
		"ip+fold(get:a+get:b)":    Join(ByIP, Fold(Join(ByQuery("a"), ByQuery("b")))),
		"each(ip+route,fold(ip))": Each(Join(ByIP, ByRoute), Fold(ByIP)),
	} {
		got, err := ParseKey(text)
		if want == nil {
			if err == nil {
				t.Errorf("%s is accepted", text)
			}
			continue
		}
		if err != nil || got.String() != text || want.String() != text {
			t.Errorf("%s: read as %v, %v; made as %v", text, got, err, want)
			continue
		}
		if !sameSource(got.source(), want.source()) {
			t.Errorf("%s: another source than the one made in Go", text)
		}
	}
	for _, s := range everySource() {
		got, err := ParseKey(s.String())
		if _, isFunc := strings.CutPrefix(s.String(), "func:"); isFunc {
			if err == nil {
				t.Errorf("%v has no text form but is read", s)
			}
		} else if err != nil || !sameSource(got.source(), s.source()) {
			t.Errorf("%v: %v, %v", s, got, err)
		}
	}
}

// sameSource compares all that can be compared.
func sameSource(a, b *source) bool {
	if a.op != b.op || a.kind != b.kind || a.name != b.name || a.cut != b.cut || a.fold != b.fold || a.text != b.text ||
		a.absent != b.absent || len(a.subs) != len(b.subs) {
		return false
	}
	for i := range a.subs {
		if !sameSource(a.subs[i], b.subs[i]) {
			return false
		}
	}
	return true
}

func TestParseKeyAllowsSpace(t *testing.T) {
	got, err := ParseKey(" each( ip + post : username ,\tas( q , get:q ) ) \n")
	if err != nil || got.String() != "each(ip+post:username,as(q,get:q))" {
		t.Errorf("%v, %v", got, err)
	}
}

var errorAt = regexp.MustCompile(`^key "(?s:.*)": at byte (\d+): `)

func TestParseKeyErrorsHelp(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int
		want string
	}{
		{"", 0, "header:X-Api-Key"},
		{"ip+", 3, "expected a word"},
		{"+ip", 0, "expected a word"},
		{"ip+hedaer:X", 3, `did you mean "header"? An example: header:X-Api-Key`},
		{"query:q", 0, `did you mean "get"`},
		{"form:q", 0, `did you mean "post"`},
		{"User", 0, `did you mean "user"`},
		{"firts(ip)", 0, `did you mean "first"`},
		{"cookie:sid", 0, `unknown word "cookie"; there are as, const, each, first, fold, get, header, ip, json, post, route, user, user_or_ip, and ByFunc`},
		{"ip user", 3, `expected "+"`},
		{"ip,user", 2, `expected "+"`},
		{"ip)", 2, `expected "+"`},
		{"ip/24", 5, "ip/24/56"},
		{"ip/x/56", 3, "ip/24/56"},
		{"ip/024/56", 3, "ip/24/56"},
		{"ip/24/", 6, "ip/24/56"},
		{"ip/33/64", 0, "8 to 32"},
		{"ip/24/999", 6, "ip/24/56"},
		{"header", 6, `expected ":"`},
		{"header:", 7, "expected a name"},
		{"header:ä", 7, "double quotes"},
		{`header:"a b"`, 0, "no header field name"},
		{"header:Host", 0, "ByFunc"},
		{`get:""`, 0, "empty"},
		{`get:"a`, 4, "double quotes"},
		{"get:'a'", 4, "double quotes"},
		{"get:`a`", 4, "double quotes"},
		{"first", 5, `expected "("`},
		{"first(", 6, "expected a word"},
		{"first()", 6, "expected a word"},
		{"first(ip", 8, `"," or ")"`},
		{"each(ip,each(user))", 0, "can not be part"},
		{"ip+each(user)", 3, "can not be part"},
		{"each(user)+ip", 0, "can not be part"},
		{"as(ip)", 5, `expected ","`},
		{"as(q,ip,user)", 0, "takes one source"},
		{"fold(ip,user)", 0, "takes one source"},
		{"func:f", 0, "ByFunc"},
		{strings.Repeat("first(", 17) + "ip", 96, "more than 16"},
	} {
		src, err := ParseKey(c.text)
		if err == nil || src != nil {
			t.Errorf("%q is read as %v", c.text, src)
			continue
		}
		m := errorAt.FindStringSubmatch(err.Error())
		if m == nil || m[1] != strconv.Itoa(c.at) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), strconv.Quote(c.text)) {
			t.Errorf("%q: %v\nwant byte %d and %q", c.text, err, c.at, c.want)
		}
	}
}

func TestExamplesAreRight(t *testing.T) {
	for word, text := range keyExamples {
		if s, err := ParseKey(text); err != nil || s.String() != text || !strings.HasPrefix(text, word) {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
	for word, meant := range keySynonyms {
		if keyExamples[meant] == "" || keyExamples[word] != "" {
			t.Errorf("synonym %s: %s", word, meant)
		}
	}
}

// What is read is a valid source whose text reads back as itself; what is not
// read is told in one line of bounded length.
func FuzzParseKey(f *testing.F) {
	for _, s := range everySource() {
		f.Add(s.String())
	}
	f.Add(`as("\u00e4",ip/24/56+fold(each(user)))`)
	f.Fuzz(func(t *testing.T, text string) {
		src, err := ParseKey(text)
		if err != nil {
			if !errorAt.MatchString(err.Error()) || strings.ContainsAny(err.Error(), "\r\n\x00") && !strings.Contains(err.Error(), "nothing") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if src.source().err != nil {
			t.Fatalf("%q is read, but %v", text, src.source().err)
		}
		again, err := ParseKey(src.String())
		if err != nil || again.String() != src.String() || !sameSource(src.source(), again.source()) {
			t.Fatalf("%q: %v, read again as %v, %v", text, src, again, err)
		}
		r := wrap(post(mediaURLEncoded, "q=1"))
		if ks, err := src.source().keys(r, MissingShare, nil); err != nil || len(ks) == 0 {
			t.Fatalf("%q: %d keys, %v", text, len(ks), err)
		}
	})
}
