package core_test

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/core"
)

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, s := range texts {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

// The lists decide before anything is counted, and a change of them takes effect
// with the next request.
func TestListsByAddress(t *testing.T) {
	var allow, deny core.List
	if err := deny.Add(core.Entries{Prefixes: prefixes("192.0.2.0/24")}); err != nil {
		t.Fatal(err)
	}
	if err := allow.Add(core.Entries{Prefixes: prefixes("192.0.2.7/32", "2001:db8::/32")}); err != nil {
		t.Fatal(err)
	}
	l := configured(t, core.Config{AllowList: &allow, DenyList: &deny,
		Policies: []core.Policy{{Name: "api", Rate: "1/d"}}})
	for _, test := range []struct {
		peer   string
		status int
		field  bool
	}{
		{"192.0.2.1", 403, false}, {"::ffff:192.0.2.1", 403, false},
		{"192.0.2.7", 200, false}, {"192.0.2.7", 200, false}, // exempt although denied, and not counted
		{"2001:db8::1", 200, false}, {"2001:db8::1", 200, false},
		{"198.51.100.1", 200, true}, {"198.51.100.1", 429, true},
	} {
		if strings.Contains(test.peer, ":") {
			test.peer = "[" + test.peer + "]"
		}
		w := serve(l, test.peer)
		if w.Code != test.status || (w.Header().Get("RateLimit") != "") != test.field {
			t.Errorf("%s: %d %v", test.peer, w.Code, w.Header())
		}
		if w.Code == 403 && (w.Body.String() != `{"type":"about:blank","title":"Forbidden","status":403}` ||
			w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("Retry-After") != "") {
			t.Errorf("%v %s", w.Header(), w.Body)
		}
	}
	if err := deny.Replace(core.Entries{}); err != nil {
		t.Fatal(err)
	}
	if w := serve(l, "192.0.2.1"); w.Code != 200 || !strings.Contains(w.Header().Get("RateLimit"), "r=0") {
		t.Errorf("no longer denied, and %d %v", w.Code, w.Header())
	}
}

// A key on a list is one that a policy's source makes; a policy that counts by
// something else is not concerned.
func TestListsByKey(t *testing.T) {
	var allow, deny core.List
	key := func(name string) core.Key { return core.KeyOf(core.KindHeader, "X-Api-Key", name) }
	if err := allow.Add(core.Entries{Keys: []core.Key{key("gold")}}); err != nil {
		t.Fatal(err)
	}
	if err := deny.Add(core.Entries{Keys: []core.Key{key("stolen")}}); err != nil {
		t.Fatal(err)
	}
	l := configured(t, core.Config{AllowList: &allow, DenyList: &deny, Policies: []core.Policy{
		{Name: "key", Rate: "1/d", By: "header:X-Api-Key"},
		{Name: "client", Rate: "5/d"},
	}})
	get := func(name string) *core.Visit {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-Api-Key", name)
		return visit(l, httplimit.Request(r))
	}
	for range 2 {
		if v := get("stolen"); v.Pass || !v.Decision.Denied || v.Response.Status != 403 || v.Decision.RetryAfter != core.NoRetry {
			t.Errorf("%+v", v)
		}
	}
	for i := range 6 { // exempt from one policy, not from the other
		if v := get("gold"); v.Pass != (i < 5) || v.Decision.Policy != "client" {
			t.Errorf("request %d: %+v", i+1, v.Decision)
		}
	}

	// The same outside of requests.
	for name, allowed := range map[string]bool{"gold": true, "stolen": false} {
		for range 2 {
			d, err := l.Allow(t.Context(), "key", key(name), 1)
			if err != nil || d.Allowed != allowed || d.Denied == allowed {
				t.Errorf("%s: %+v, %v", name, d, err)
			}
		}
	}
}

// Forbidden renders; what it answers is checked as that of a hook is.
func TestForbiddenAnswers(t *testing.T) {
	var deny core.List
	if err := deny.Add(core.Entries{Prefixes: prefixes("0.0.0.0/0")}); err != nil {
		t.Fatal(err)
	}
	for status, want := range map[int]int{0: 403, 404: 404, 99: 500} {
		l := configured(t, core.Config{DenyList: &deny, Policies: []core.Policy{{Name: "api", Rate: "1/d"}},
			Forbidden: func(core.Request) core.Response { return core.Response{Status: status, Body: []byte("go away")} }})
		w := serve(l, "192.0.2.1")
		if w.Code != want || (w.Body.String() == "go away") != (want != 500) {
			t.Errorf("%d: %d %s", status, w.Code, w.Body)
		}
	}
}

// Who is denied is not looked at any further: not by what would read a body.
func TestADeniedKeyEndsTheLook(t *testing.T) {
	var deny core.List
	if err := deny.Add(core.Entries{Keys: []core.Key{core.KeyOf(core.KindHeader, "X-Api-Key", "stolen")}}); err != nil {
		t.Fatal(err)
	}
	l := configured(t, core.Config{DenyList: &deny, Policies: []core.Policy{
		{Name: "key", Rate: "1/d", By: "header:X-Api-Key"},
		{Name: "form", Rate: "1/d", By: "post:name"},
	}})
	r := httptest.NewRequest("POST", "/", strings.NewReader("name="+strings.Repeat("x", 1<<20)))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Api-Key", "stolen")
	if v := visit(l, httplimit.Request(r)); v.Pass || !v.Decision.Denied || v.Response.Status != 403 {
		t.Errorf("%+v", v.Response)
	}
}
