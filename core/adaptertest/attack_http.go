package adaptertest

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stint-go/stint/core"
)

// httpAttacks are those by what HTTP and frameworks offer.
var httpAttacks = map[string][]row{
	"D11": {{"clients that go away are charged", clientAborts}},
	"F1":  {{"all spellings that reach a handler share its budget", spellingBudget}},
	"F2":  {{"a method that is claimed elsewhere is not believed", methodOverride}},
	"F3":  {{"a path's parameters are not its identity", parameters}},
	"F4":  {{"bodies that keys are in are handed on byte-identical", bodiesHandedOn}, {"bodies of every size", bodySizes}, {"compressed bodies", compressedBodies}, {"bodies that end too early, or are framed wrong", framing}},
	"F5":  {{"identities on a connection that is kept are the true ones", aliasing}},
	"F6":  {{"a hook that panics", hookPanics}, {"a hook that aborts as net/http handlers do", hookAborts}, {"a handler that panics", handlerPanics}},
	"F7":  {{"a hook that does not return holds up nobody else", slowHook}},
	"F8":  {{"clients that go away are charged", clientAborts}},
	"F9":  {{"a decision outlives the request's context", contexts}},
	"F10": {{"stacked limiters decide in order and share the fields", stacked}, {"legacy fields, both, and none", headerChoices}, {"a header field that came from a client stays out", responseSplitting}},
	"F11": {{"what failed is not told", leaks}},
	"F12": {{"what is logged is one line", logLines}},
	"F13": {{"pipelined requests", pipelined}, {"many connections at once admit exactly the limit", concurrency}, {"HTTP/2 streams in one write admit exactly the limit", http2Burst}},
	"F14": {{"one limiter on app, group and route charges once", onceOnly}, {"the request after one that met a limiter twice is a new one", onceOnlyPerRequest}},
}

// spellingsOf are 200 and more ways to write /login.
func spellingsOf() (all []string) {
	for i := range 32 {
		for _, slash := range []string{"", "/"} {
			all = append(all, "/"+capitals("login", i)+slash)
		}
	}
	for i := range 32 { // letters in percent-encoding
		var b strings.Builder
		for j, c := range "login" {
			if i>>j&1 == 1 {
				fmt.Fprintf(&b, "%%%02x", c)
			} else {
				b.WriteRune(c)
			}
		}
		all = append(all, "/"+b.String(), "/"+strings.ToUpper(b.String())+"?x=%2F")
	}
	for _, before := range []string{"//", "/./", "/x/../", "/%2e/", "/;/", "/%2F", "/\\", "/login/../"} {
		for _, after := range []string{"", "/", "//", "/.", "/..", ";a=b", "%20", "%09", "%00", ".", "%2F", "?", "?a=b", "#top", "%3F", "\\"} {
			all = append(all, before+"login"+after)
		}
	}
	return all
}

func spellingBudget(s *suite) {
	const limit = 10
	var handled atomic.Int64
	l := s.limiter(counting("login", fmt.Sprint(limit, "/m"), core.Join(core.ByIP, core.ByRoute)))
	v := s.serve(routes(counted(&handled), []Layer{Limited(l)}, "GET /login"))
	all := spellingsOf()
	for _, path := range all {
		for _, method := range []string{"GET ", "HEAD ", "GET http://example.org"} {
			v.ask(1, method+path)
		}
	}
	for range limit { // routers that know one spelling only have budget left
		v.ask(1, "GET /login")
	}
	if len(all) < 200 {
		s.Errorf("%d spellings, want 200", len(all))
	}
	s.figure("spellings per budget", float64(handled.Load())/limit, 1)
}

func methodOverride(s *suite) {
	p := exact("unsafe", "5/m")
	p.Methods, p.Key = core.Unsafe, core.Join(core.ByIP, core.ByRoute)
	v := s.serve(routes(ok, []Layer{Limited(s.limiter(p))}, "POST /a", "GET /a"))
	w := v.dial(1)
	s.equal("admitted", w.admitted(40, func(i int) string {
		return []string{
			"POST /a\nX-HTTP-Method-Override: GET",
			"POST /a\nX-Method-Override: DELETE\nX-HTTP-Method: PUT",
			"POST /a?_method=GET" + urlencoded + "_method=GET",
			fmt.Sprintf("POST /a?_method=FOO%d", i),
		}[i%4]
	}), 5)
	app := routes(ok, nil, "GET /a")
	l := s.limiter(counting("route", "5/m", core.ByRoute), counting("all", "1000/m", core.Const("all")))
	app.Layers = []Layer{Limited(l)}
	v = s.serve(app)
	for i := range 40 {
		v.ask(1, []string{fmt.Sprint("FOO", i), "get", "GET", "PROPFIND"}[i%4]+" /nowhere")
	}
	s.equal("of 40 requests for nothing, admitted", 1000-s.remaining(l, "all", core.KeyOf(core.KindConst, "", "all")), int64(5))
}

func parameters(s *suite) {
	l := s.limiter(counting("verify", "10/m", core.Join(core.ByIP, core.ByRoute)))
	w := s.serve(route("GET", "/verify/{code}", ok, Limited(l))).dial(1)
	s.equal("admitted of 1,000 codes", w.admitted(1000, func(i int) string { return fmt.Sprintf("GET /verify/%06d", i) }), 10)
}

// aliasing sends requests with changing values over connections that are kept,
// for every source of keys, and compares what was counted with the truth: a
// framework that uses its memory again must not have it change what is counted.
func aliasing(s *suite) {
	const each = 10_000
	for _, c := range []struct {
		by      string
		request string // %s is the value
		key     func(string) core.Key
	}{
		{"header:X-Api-Key", "POST /a/1\nX-Api-Key: %s", func(v string) core.Key { return core.KeyOf(core.KindHeader, "X-Api-Key", v) }},
		{"get:q", "POST /a/2?q=%s", func(v string) core.Key { return core.KeyOf(core.KindQuery, "q", v) }},
		{"post:name", "POST /a/3" + urlencoded + "name=%s", func(v string) core.Key { return core.KeyOf(core.KindForm, "name", v) }},
		{"json:name", "POST /a/4" + jsonBody + `{"name":"%s"}`, func(v string) core.Key { return core.KeyOf(core.KindJSON, "name", v) }},
		{"user", "POST /a/5\nX-User: %s", func(v string) core.Key { return core.KeyOf(core.KindUser, "", v) }},
		{"user_or_ip", "POST /a/6\nX-User: %s", func(v string) core.Key { return core.KeyOf(core.KindUser, "", v) }},
		{"first(get:q,header:X-Q)", "POST /a/7\nX-Q: %s", func(v string) core.Key { return core.KeyOf(core.KindHeader, "X-Q", v) }},
		{"as(n,header:X-Q)", "POST /a/8\nX-Q: %s", func(v string) core.Key { return core.KeyOf(core.KindNamed, "n", v) }},
		{"each(header:X-A,route)", "POST /%[1]s/9\nX-A: %[1]s", func(v string) core.Key { return core.KeyOf(core.KindHeader, "X-A", v) }},
	} {
		p := core.Policy{Name: "api", Rate: "1000000/d", By: c.by, Strategy: core.FixedWindow{}}
		l := s.configured(core.Config{Policies: []core.Policy{p}, User: userFromHeader})
		v := s.serve(route("POST", "/{part}/{id}", ok, Limited(l)))
		truth := v.alternate(s.times(each), c.request)
		for value, n := range truth {
			if got := 1_000_000 - s.remaining(l, "api", c.key(value)); got != n {
				s.Errorf("%s: %q counted %d times, want %d", c.by, value, got, n)
			}
		}
	}
}

// alternate sends n requests over two connections, many at a time, with values
// of all lengths, and returns how often it sent each value.
func (v *server) alternate(n int, request string) map[string]int64 {
	v.Helper()
	truth := map[string]int64{}
	r := rand.New(rand.NewPCG(9, uint64(n)))
	wires := []*wire{v.dial(1), v.dial(1)}
	const batch = 50
	for sent := 0; sent < n; sent += batch {
		w := wires[r.IntN(len(wires))]
		var requests []string
		for range batch {
			value := strings.Repeat(string(rune('a'+r.IntN(5))), 1+r.IntN(9)) + string(rune('a'+r.IntN(5)))
			truth[value]++
			requests = append(requests, strings.NewReplacer("%[1]s", value, "%s", value).Replace(request))
		}
		w.write(requests...)
		for range batch {
			if a := w.peek(); a.status != 200 {
				v.Fatalf("%.80q: %v", requests[0], a)
			}
		}
	}
	return truth
}

// blocker is a hook that waits for a value of a header.
type blocker struct {
	core.Base
	entered chan struct{}
	release chan struct{}
}

func (b blocker) ShouldLimit(r core.Request) bool {
	if r.Header("X-Wait") != "" {
		b.entered <- struct{}{}
		<-b.release
	}
	return true
}

func slowHook(s *suite) {
	b := blocker{entered: make(chan struct{}, 1), release: make(chan struct{})}
	p := exact("api", "1000/m")
	p.Hooks = b
	v := s.serve(route("GET", "/", ok, Limited(s.limiter(p))))
	goOn := sync.OnceFunc(func() { close(b.release) })
	s.Cleanup(goOn)
	slow := v.dial(1)
	slow.write("GET /\nX-Wait: 1")
	<-b.entered
	for client := range 3 {
		s.equal("others meanwhile", v.dial(client+1).admitted(100, func(int) string { return "GET /" }), 100)
	}
	goOn()
	s.equal("the slow one", slow.peek().status, 200)
}

func responseSplitting(s *suite) {
	p := exact("api", "0/m")
	p.Hooks = words{Response: core.Response{Status: 429, Header: map[string][]string{"X-Note": {"a\r\nX-Injected: 1"}}}}
	v := s.serve(route("GET", "/", ok, Limited(s.limiter(p))))
	a := v.ask(1, "GET /")
	s.equal("status and injected field", fmt.Sprint(a.status, a.header["X-Injected"]), "429 []")
}

// leaks: an answer never shows an address, a key, or what a backend said.
func leaks(s *suite) {
	const secret = "s3cret"
	p := exact("api", "1/m")
	p.By = "header:X-Api-Key"
	q := p
	q.RateFunc, q.Rate = func(string, core.Request) (core.Rates, error) { return nil, fmt.Errorf("plans of %s", secret) }, ""
	broken := s.configured(core.Config{Policies: []core.Policy{exact("api", "1/m")}, Backend: brokenBackend{secret}})
	v := s.serve(App{Groups: []Group{{Routes: []Route{
		{"GET", "/refused", []Layer{Limited(s.limiter(p))}, ok},
		{"GET", "/rates", []Layer{Limited(s.limiter(q))}, ok},
		{"GET", "/backend", []Layer{Limited(broken)}, ok},
	}}}})
	for path, want := range map[string]int{"/refused": 429, "/rates": 503, "/backend": 503} {
		v.ask(1, "GET "+path+"\nX-Api-Key: "+secret)
		a := v.ask(1, "GET "+path+"?"+secret+"\nX-Api-Key: "+secret)
		s.equal(path, a.status, want)
		text := fmt.Sprint(a.header, a.body)
		for _, word := range []string{secret, "127.0.0.", "X-Api-Key", "goroutine", ".go:"} {
			if strings.Contains(text, word) {
				s.Errorf("%s shows %q: %s", path, word, text)
			}
		}
	}
}

// logLines: a client's text in a hook's panic makes no second line.
func logLines(s *suite) {
	const forged = "a\r\ntime=2020 level=INFO msg=\"FAKE 200\"\x1b[31m"
	p := exact("api", "9/m")
	p.Hooks = echoingHook{}
	v := s.serve(route("GET", "/", ok, Limited(s.limiter(p))))
	v.send(1, "GET /?q="+url.QueryEscape(forged))
	text := s.log.String()
	if strings.Count(text, "\n") != 1 || strings.ContainsAny(strings.TrimSuffix(text, "\n"), "\r\n\x1b") {
		s.Errorf("log: %q", text)
	}
}

// echoingHook panics with what the client sent.
type echoingHook struct{ core.Base }

func (echoingHook) ShouldLimit(r core.Request) bool { panic("bad value " + r.Query("q")) }
