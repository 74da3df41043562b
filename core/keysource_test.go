package core

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// everySource makes one of each source that reads something.
func everySource() []KeySource {
	return []KeySource{ByIP, ByIPPrefix(24, 56), ByHeader("x-api-key"), ByQuery("q"), ByForm("username"), ByJSON("email"),
		ByUser, ByUserOrIP, ByRoute, Const("x"), ByFunc("tenant", func(r Request) string { return r.Header("Tenant") }),
		Join(ByIP, ByQuery("q")), FirstOf(ByQuery("q"), ByForm("q")), Each(ByIP, ByUser), As("q", FirstOf(ByQuery("q"), ByForm("q"))),
		Fold(ByForm("username"))}
}

func keysOf(t *testing.T, s KeySource, n *fakeNative, m Missing) []Key {
	t.Helper()
	ks, err := s.source().keys(wrap(n), m, nil)
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	return ks
}

func TestSourcesBuildKeys(t *testing.T) {
	full := func() *fakeNative {
		n := post(mediaURLEncoded, "username=+Bob&q=body")
		n.header["X-Api-Key"], n.header["User"], n.header["Tenant"] = []string{"k1", "k2"}, []string{"alice"}, []string{"acme"}
		n.query, n.route = url.Values{"q": {"1.2.3.4"}}, "/users/:id"
		return n
	}
	ip := ipKey("192.0.2.1")
	for _, c := range []struct {
		source KeySource
		want   []Key
	}{
		{ByIP, []Key{ip}},
		{ByIPPrefix(24, 56), []Key{KeyOfPrefix(netip.MustParsePrefix("192.0.2.0/24"))}},
		{ByHeader("x-api-KEY"), []Key{KeyOf(KindHeader, "X-Api-Key", "k1")}},
		{ByQuery("q"), []Key{KeyOf(KindQuery, "q", "1.2.3.4")}},
		{ByForm("username"), []Key{KeyOf(KindForm, "username", " Bob")}},
		{ByUser, []Key{KeyOf(KindUser, "", "alice")}},
		{ByUserOrIP, []Key{KeyOf(KindUser, "", "alice")}},
		{ByRoute, []Key{KeyOf(KindRoute, "POST", "/users/:id")}},
		{Const("x"), []Key{KeyOf(KindConst, "", "x")}},
		{ByFunc("tenant", func(r Request) string { return r.Header("Tenant") }), []Key{KeyOf(KindNamed, "tenant", "acme")}},
		{Join(ByIP, ByUser, ByRoute), []Key{ip.with(KeyOf(KindUser, "", "alice")).with(KeyOf(KindRoute, "POST", "/users/:id"))}},
		{Join(ByIP, Join(ByUser, ByRoute)), []Key{ip.with(KeyOf(KindUser, "", "alice")).with(KeyOf(KindRoute, "POST", "/users/:id"))}},
		{FirstOf(ByQuery("none"), ByForm("q"), ByQuery("q")), []Key{KeyOf(KindForm, "q", "body")}},
		{FirstOf(Join(ByIP, ByQuery("none")), ByUser), []Key{KeyOf(KindUser, "", "alice")}},
		{Each(ByIP, ByUser, ByUserOrIP), []Key{ip, KeyOf(KindUser, "", "alice")}},
		{Each(Join(ByIP, ByRoute), ByIP), []Key{ip.with(KeyOf(KindRoute, "POST", "/users/:id")), ip}},
		{As("q", FirstOf(ByQuery("none"), ByForm("q"))), []Key{KeyOf(KindNamed, "q", "body")}},
		{As("who", ByUserOrIP), []Key{KeyOf(KindNamed, "who", "alice")}},
		{As("who", ByIP), []Key{KeyOf(KindNamed, "who", "").with(ip)}},
		{As("who", ByRoute), []Key{KeyOf(KindNamed, "who", "").with(KeyOf(KindRoute, "POST", "/users/:id"))}},
		{As("who", Join(ByUser, ByQuery("q"))), []Key{KeyOf(KindNamed, "who", "").with(KeyOf(KindUser, "", "alice")).with(KeyOf(KindQuery, "q", "1.2.3.4"))}},
		{Fold(ByForm("username")), []Key{KeyOf(KindForm, "username", "bob")}},
		{Fold(Each(ByIP, As("u", Join(ByForm("username"), Const("X"))))), []Key{ip, KeyOf(KindNamed, "u", "").with(KeyOf(KindForm, "username", "bob")).with(KeyOf(KindConst, "", "X"))}},
	} {
		if got := keysOf(t, c.source, full(), MissingRefuse); !slices.Equal(got, c.want) {
			t.Errorf("%v:\n %+v, want\n %+v", c.source, got, c.want)
		}
	}
}

// One text never is one identity in two dimensions, whatever a client sends.
func TestSameTextInDifferentPlacesIsDifferentIdentities(t *testing.T) {
	seen := map[Key]KeySource{}
	const text = "192.0.2.1"
	sources := []KeySource{ByIP, ByHeader("q"), ByQuery("q"), ByForm("q"), ByUser, Const(text), As("q", ByQuery("q")),
		As("z", ByQuery("q")), ByFunc("f", func(Request) string { return text }), Join(ByIP, ByIP), As("q", ByIP), Join(ByQuery("q"), ByIP)}
	for _, s := range sources {
		for _, empty := range []bool{false, true} {
			n := post(mediaURLEncoded, "q="+text)
			n.header["Q"], n.header["User"], n.query = []string{text}, []string{text}, url.Values{"q": {text}}
			if empty {
				n.body, n.header, n.query = io.NopCloser(strings.NewReader("")), map[string][]string{}, nil
			}
			for _, m := range []Missing{MissingIP, MissingShare} {
				if s.String() == "get:q+ip" && empty {
					continue // without q, it is the stand-in for get:q by design: the address
				}
				k := keysOf(t, s, n, m)[0]
				if was, ok := seen[k]; ok && was.String() != s.String() {
					t.Errorf("%v and %v meet in %+v", was, s, k)
				}
				seen[k] = s
			}
		}
	}
}

func TestMissingValues(t *testing.T) {
	ip := ipKey("192.0.2.1")
	gone := func(text string) Key { return KeyOf(KindMissing, text, "") }
	for _, c := range []struct {
		source  KeySource
		ip      []Key // MissingIP
		share   []Key
		skip    []Key
		refused bool
	}{
		{ByHeader("X-A"), []Key{gone("header:X-A").with(ip)}, []Key{gone("header:X-A")}, nil, true},
		{ByQuery("q"), []Key{gone("get:q").with(ip)}, []Key{gone("get:q")}, nil, true},
		{ByForm("f"), []Key{gone("post:f").with(ip)}, []Key{gone("post:f")}, nil, true},
		{ByJSON("f"), []Key{gone("json:f").with(ip)}, []Key{gone("json:f")}, nil, true},
		{ByUser, []Key{gone("user").with(ip)}, []Key{gone("user")}, nil, true},
		{ByFunc("f", func(Request) string { return "" }), []Key{gone("func:f").with(ip)}, []Key{gone("func:f")}, nil, true},
		{FirstOf(ByQuery("a"), ByUser), []Key{gone("first(get:a,user)").with(ip)}, []Key{gone("first(get:a,user)")}, nil, true},
		{As("n", ByUser), []Key{gone("as(n,user)").with(ip)}, []Key{gone("as(n,user)")}, nil, true},
		{Fold(ByHeader("Blank")), []Key{gone("fold(header:Blank)").with(ip)}, []Key{gone("fold(header:Blank)")}, nil, true},
		{Join(ByRoute, ByUser), []Key{KeyOf(KindRoute, "", "").with(gone("user")).with(ip)}, []Key{KeyOf(KindRoute, "", "").with(gone("user"))}, nil, true},
		{Each(ByIP, ByUser), []Key{ip, gone("user").with(ip)}, []Key{ip, gone("user")}, []Key{ip}, true},
		{Each(ByQuery("q"), ByUser), []Key{gone("get:q").with(ip), gone("user").with(ip)}, []Key{gone("get:q"), gone("user")}, nil, true},
		// never missing
		{ByIP, []Key{ip}, []Key{ip}, []Key{ip}, false},
		{ByUserOrIP, []Key{ip}, []Key{ip}, []Key{ip}, false},
		{ByRoute, []Key{KeyOf(KindRoute, "", "")}, []Key{KeyOf(KindRoute, "", "")}, []Key{KeyOf(KindRoute, "", "")}, false},
		{Const(""), []Key{KeyOf(KindConst, "", "")}, []Key{KeyOf(KindConst, "", "")}, []Key{KeyOf(KindConst, "", "")}, false},
	} {
		n := func() *fakeNative {
			n := post(mediaURLEncoded, "f=")
			n.header["Blank"] = []string{" \t"}
			return n
		}
		for m, want := range map[Missing][]Key{MissingIP: c.ip, MissingShare: c.share, MissingSkip: c.skip} {
			if got := keysOf(t, c.source, n(), m); !slices.Equal(got, want) {
				t.Errorf("%v, %v:\n %+v, want\n %+v", c.source, m, got, want)
			}
		}
		ks, err := c.source.source().keys(wrap(n()), MissingRefuse, nil)
		if errors.Is(err, errMissing) != c.refused || c.refused && len(ks) != 0 {
			t.Errorf("%v, refuse: %v %v, want refused %v", c.source, ks, err, c.refused)
		}
	}
}

func TestNoAddressOrTooLongIsNoIdentity(t *testing.T) {
	nowhere := post("", "")
	nowhere.peer = "@"
	long := post(mediaURLEncoded, "f="+strings.Repeat("x", maxValue+1))
	long.header["User"] = []string{strings.Repeat("x", maxValue+1)}
	fits := post(mediaURLEncoded, "f="+strings.Repeat("x", maxValue))
	for _, c := range []struct {
		source KeySource
		n      *fakeNative
		want   error
	}{
		{ByIP, nowhere, ErrIdentity}, {ByUser, nowhere, ErrIdentity}, {ByUserOrIP, nowhere, ErrIdentity}, {Each(Const("x"), ByIP), nowhere, ErrIdentity},
		{Join(ByRoute, ByIP), nowhere, ErrIdentity}, {Const("x"), nowhere, nil},
		{ByForm("f"), long, ErrIdentity}, {ByUserOrIP, long, ErrIdentity}, {Fold(ByUser), long, ErrIdentity}, {FirstOf(ByForm("f"), ByIP), long, ErrIdentity},
		{ByForm("f"), fits, nil},
	} {
		for _, m := range []Missing{MissingIP, MissingSkip} {
			if m == MissingSkip && c.n == nowhere && c.source == ByUser {
				continue // left out before an address is asked for
			}
			c.n.body = io.NopCloser(strings.NewReader("f=" + strings.Repeat("x", map[bool]int{true: maxValue + 1, false: maxValue}[c.n == long])))
			ks, err := c.source.source().keys(wrap(c.n), m, make([]Key, 0, 4))
			if !errors.Is(err, c.want) || (err != nil) != (len(ks) == 0) {
				t.Errorf("%v, %v: %d keys and %v, want %v", c.source, m, len(ks), err, c.want)
			}
		}
	}
}

func TestBrokenBodyIsNoMissingValue(t *testing.T) {
	for _, c := range []struct {
		source      KeySource
		contentType string
		body        string
		want        error
	}{
		{ByForm("f"), mediaURLEncoded, "f=%zz", ErrBodyBroken},
		{FirstOf(ByForm("f"), ByIP), mediaURLEncoded, "f=%zz", ErrBodyBroken},
		{ByJSON("f"), "application/json", "{", ErrBodyBroken},
		{Each(ByIP, ByJSON("f")), "application/json", strings.Repeat(" ", DefaultBodyLimit+1), ErrBodyTooLarge},
	} {
		for _, m := range []Missing{MissingIP, MissingShare, MissingSkip, MissingRefuse} {
			r := wrap(post(c.contentType, c.body))
			ks, err := c.source.source().keys(r, m, nil)
			if !errors.Is(err, c.want) || !errors.Is(r.err, c.want) || len(ks) != 0 {
				t.Errorf("%v, %v: %v %v, want %v", c.source, m, ks, err, c.want)
			}
		}
	}
}

func TestRouteKeys(t *testing.T) {
	k := func(method, route string) Key {
		return keysOf(t, ByRoute, &fakeNative{method: method, route: route}, MissingIP)[0]
	}
	if k("HEAD", "/a") != k("GET", "/a") || k("POST", "/a") == k("GET", "/a") || k("GET", "/a") == k("GET", "/b") {
		t.Error("routes are told apart wrongly")
	}
	if k("FOO", "/a") != k("get", "/a") || k("FOO", "/a") == k("GET", "/a") {
		t.Error("unusual methods do not share a cell")
	}
	if k("GET", "") != k("POST", "") {
		t.Error("requests without a route do not share a cell")
	}
}

func TestIPv6ClientsAreCountedByPrefix(t *testing.T) {
	k := func(s KeySource, cut ipCut, peer string) Key {
		r := wrap(&fakeNative{peer: peer})
		r.env.cut = cut
		ks, err := s.source().keys(r, MissingIP, nil)
		if err != nil {
			t.Fatal(err)
		}
		return ks[0]
	}
	a, b, c := "2001:db8:0:1::1", "2001:db8:0:1:ffff::1", "2001:db8:0:2::1"
	if k(ByIP, ipCut{}, a) != k(ByIP, ipCut{}, b) || k(ByIP, ipCut{}, a) == k(ByIP, ipCut{}, c) {
		t.Error("the usual prefix is not a /64")
	}
	if k(ByIP, ipCut{24, 48}, a) != k(ByIP, ipCut{24, 48}, c) {
		t.Error("the Limiter's prefix is not used")
	}
	if k(ByIPPrefix(32, 64), ipCut{24, 48}, a) == k(ByIPPrefix(32, 64), ipCut{24, 48}, c) {
		t.Error("the source's own prefix is not used")
	}
	if k(ByIP, ipCut{}, "::ffff:192.0.2.1") != k(ByIP, ipCut{}, "192.0.2.1") || k(ByIP, ipCut{}, "fe80::1%eth0") != k(ByIP, ipCut{}, "fe80::1%eth1") {
		t.Error("mapped or zoned addresses are their own")
	}
}

func TestFoldSharesSpellings(t *testing.T) {
	share := []string{"admin@example.org", "ADMIN@example.org", " Admin@Example.ORG\t", "\u00a0admin@example.org\n", "admin\u0040example.org"}
	for _, s := range share {
		if FoldText(s) != share[0] {
			t.Errorf("%q is folded to %q", s, FoldText(s))
		}
	}
	for _, p := range [][2]string{{"ÄRGER", "ärger"}, {"ΣΊΣΥΦΟΣ", "σίσυφος"}, {"ſ", "s"}, {"K", "k"}} {
		if FoldText(p[0]) != FoldText(p[1]) {
			t.Errorf("%q and %q: %q and %q", p[0], p[1], FoldText(p[0]), FoldText(p[1]))
		}
	}
	for _, s := range []string{"ı", "İ", "ß", "\xff", "ΐ"} {
		if FoldText(FoldText(s)) != FoldText(s) {
			t.Errorf("%q: folding twice is not folding once", s)
		}
	}
}

func TestNothingIsFoldedUnasked(t *testing.T) {
	n := func(v string) *fakeNative { return &fakeNative{header: map[string][]string{"X-Api-Key": {v}}} }
	if keysOf(t, ByHeader("X-Api-Key"), n("aB"), MissingIP)[0] == keysOf(t, ByHeader("X-Api-Key"), n("ab"), MissingIP)[0] {
		t.Error("two tokens that differ in case share a cell")
	}
}

func TestWrongSourcesComplain(t *testing.T) {
	for _, c := range []struct {
		source KeySource
		want   string
	}{
		{ByHeader(""), "no header field name"}, {ByHeader("a b"), "no header"}, {ByHeader("a\r\nb"), "no header"}, {ByHeader("ä"), "no header"},
		{ByHeader("host"), "Host"}, {ByQuery(""), "empty"}, {ByForm("a\x00"), "control"}, {ByJSON("\xff"), "UTF-8"}, {ByQuery(strings.Repeat("x", 257)), "257"},
		{ByFunc("f", nil), "nil"}, {ByFunc("", func(Request) string { return "" }), "empty"}, {Const(strings.Repeat("x", maxValue+1)), "constant"},
		{ByIPPrefix(33, 64), "33"}, {ByIPPrefix(32, 129), "129"}, {ByIPPrefix(0, 64), "prefix"}, {ByIPPrefix(-1, 64), "prefix"}, {ByIPPrefix(32, 0), "prefix"},
		{Join(), "nothing"}, {FirstOf(), "nothing"}, {Each(), "nothing"}, {Join(ByIP, nil), "nil"}, {As("x", nil), "nil"}, {Fold(nil), "nil"}, {As("", ByIP), "empty"},
		{Join(ByIP, Each(ByIP)), "each(ip)"}, {FirstOf(Each(ByIP)), "each(ip)"}, {Each(Each(ByIP)), "each(ip)"}, {As("x", Fold(Each(ByIP))), "fold(each(ip))"},
		{Join(ByIP, FirstOf(As("x", Fold(ByHeader("")))), ByQuery("")), "no header"},
	} {
		if err := c.source.source().err; err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want an error with %q", c.source, err, c.want)
		}
	}
	for _, s := range everySource() {
		if err := s.source().err; err != nil {
			t.Errorf("%v: %v", s, err)
		}
	}
	if err := Join(ByQuery(""), ByHeader("")).source().err; err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not all complaints at once: %v", err)
	}
}

func TestSourcesTellWhatTheyNeed(t *testing.T) {
	for _, c := range []struct {
		source              KeySource
		needsUser, forgable bool
	}{
		{ByIP, false, false}, {ByUser, true, false}, {ByUserOrIP, true, false}, {ByRoute, false, false}, {Const("x"), false, false},
		{ByHeader("a"), false, true}, {ByQuery("a"), false, true}, {ByForm("a"), false, true}, {ByJSON("a"), false, true},
		{Join(ByIP, ByForm("a")), false, false}, {Join(ByRoute, ByForm("a")), false, true}, {Each(ByForm("a"), ByIP), false, false},
		{FirstOf(ByForm("a"), ByIP), false, true}, {FirstOf(ByIP, ByForm("a")), false, true}, {FirstOf(ByUser, ByIP), true, false},
		{As("x", ByQuery("a")), false, true}, {Fold(Join(ByUser, ByQuery("a"))), true, false},
	} {
		s := c.source.source()
		if s.needsUser != c.needsUser || s.clientChosen() != c.forgable {
			t.Errorf("%v: needs user %v, chosen by the client %v; want %v, %v", c.source, s.needsUser, s.clientChosen(), c.needsUser, c.forgable)
		}
	}
}

func TestMissingAsText(t *testing.T) {
	for m := MissingIP; m <= MissingRefuse; m++ {
		text, err := m.MarshalText()
		var back Missing
		if err != nil || back.UnmarshalText(text) != nil || back != m {
			t.Errorf("%v: %q, %v, back as %v", m, text, err, back)
		}
	}
	var m Missing
	if _, err := Missing(9).MarshalText(); err == nil || m.UnmarshalText([]byte("Skip!")) == nil || !strings.Contains(fmt.Sprint(Missing(9)), "9") {
		t.Error("unknown values pass")
	}
}

func TestCommonKeysAllocateNothing(t *testing.T) {
	n := &fakeNative{method: "GET", route: "/a", peer: "192.0.2.1", header: map[string][]string{"X-Api-Key": {"k"}}}
	addr := netip.MustParseAddr(n.peer)
	env := &requestEnv{clientIP: func(Native) netip.Addr { return addr }, user: func(Request) string { return "" }}
	var r request
	dst := make([]Key, 0, 4)
	for _, s := range []KeySource{ByIP, ByIPPrefix(24, 56), ByHeader("X-Api-Key"), ByUserOrIP, ByUser, ByRoute, Const("x"), Each(ByIP, ByRoute), As("k", ByHeader("X-Api-Key"))} {
		if a := testing.AllocsPerRun(100, func() {
			r.reset(n, env)
			dst, _ = s.source().keys(&r, MissingIP, dst[:0])
		}); a != 0 || len(dst) == 0 {
			t.Errorf("%v: %v allocations, %d keys", s, a, len(dst))
		}
	}
}

func BenchmarkKeyByIP(b *testing.B) {
	addr := netip.MustParseAddr("192.0.2.1")
	n, env := &fakeNative{}, &requestEnv{clientIP: func(Native) netip.Addr { return addr }}
	var r request
	dst := make([]Key, 0, 4)
	b.ReportAllocs()
	for b.Loop() {
		r.reset(n, env)
		dst, _ = ipSource.keys(&r, MissingIP, dst[:0])
	}
}
