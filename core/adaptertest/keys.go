package adaptertest

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"

	"github.com/stint-go/stint/core"
)

var keyRows = []row{
	{"every source finds its value", sources},
	{"what is missing", missing},
	{"several values of one name: the first counts", firstOfSeveral},
	{"forged forwarding fields", forged},
	{"the client behind a named proxy", behindProxy},
	{"a header that the proxy overwrites", proxyHeader},
	{"IPv6 peers", ipv6Peer},
	{"IPv4 peers of a listener for both", mappedPeer},
	{"a peer without an address", unixPeer},
}

const (
	urlencoded = "\nContent-Type: application/x-www-form-urlencoded\n\n"
	jsonBody   = "\nContent-Type: application/json\n\n"
)

// userFromHeader stands for an authentication that ran before.
func userFromHeader(r core.Request) string { return r.Header("X-User") }

// keyedLimiter is a Limiter of one policy "api" with a key written as text.
func (s *suite) keyedLimiter(by, rate string, m core.Missing) *core.Limiter {
	s.Helper()
	p := exact("api", rate)
	p.By, p.Missing = by, m
	return s.configured(core.Config{Policies: []core.Policy{p}, User: userFromHeader})
}

// sources sends one request per source of keys, and looks under the key that a
// caller outside of a request would use whether it was counted there.
func sources(s *suite) {
	ip := clientKey(1)
	for _, c := range []struct {
		by, request string
		key         core.Key
	}{
		{"ip", "GET /users/7", ip},
		{"header:X-Api-Key", "GET /users/7\nX-Api-Key: Alice", core.KeyOf(core.KindHeader, "X-Api-Key", "Alice")},
		{"header:x-api-key", "GET /users/7\nx-api-KEY:  Alice ", core.KeyOf(core.KindHeader, "X-Api-Key", "Alice")},
		{"get:q", "GET /users/7?p=1&q=a%20b+c%2B", core.KeyOf(core.KindQuery, "q", "a b c+")},
		{"get:q", "GET /users/7?q=%C3%A9&q=2", core.KeyOf(core.KindQuery, "q", "é")},
		{"post:name", "POST /users/7" + urlencoded + "x=1&name=al%20ice", core.KeyOf(core.KindForm, "name", "al ice")},
		{"post:name", "POST /users/7?name=query" + urlencoded + "name=body", core.KeyOf(core.KindForm, "name", "body")},
		{"post:name", "POST /users/7" + multipartBody, core.KeyOf(core.KindForm, "name", "alice")},
		{"json:email", "POST /users/7" + jsonBody + `{"a":[1],"email":"a\u0040b"}`, core.KeyOf(core.KindJSON, "email", "a@b")},
		{"json:id", "POST /users/7" + jsonBody + `{"id":1e2}`, core.KeyOf(core.KindJSON, "id", "100")},
		{"user", "GET /users/7\nX-User: bob", core.KeyOf(core.KindUser, "", "bob")},
		{"user_or_ip", "GET /users/7\nX-User: bob", core.KeyOf(core.KindUser, "", "bob")},
		{"user_or_ip", "GET /users/7", ip},
		{"route", "GET /users/7", s.routeKey("GET", "/users/{id}")},
		{"const:all", "GET /users/7", core.KeyOf(core.KindConst, "", "all")},
		{"fold(header:X-Name)", "GET /users/7\nX-Name: ALICE", core.KeyOf(core.KindHeader, "X-Name", "alice")},
		{"first(get:q,header:X-Q)", "GET /users/7\nX-Q: 1", core.KeyOf(core.KindHeader, "X-Q", "1")},
		{"as(q,first(get:q,post:q))", "GET /users/7?q=1", core.KeyOf(core.KindNamed, "q", "1")},
		{"as(q,first(get:q,post:q))", "POST /users/7" + urlencoded + "q=1", core.KeyOf(core.KindNamed, "q", "1")},
	} {
		l := s.keyedLimiter(c.by, "9/m", core.MissingIP)
		v := s.serve(routes(ok, []Layer{Limited(l)}, "GET /users/{id}", "POST /users/{id}"))
		s.expect(v.send(1, c.request), `200 | "api";q=9;w=60 | "api";r=8;t=60 | ok`)
		s.equal(fmt.Sprintf("left by %s for %.60q", c.by, c.request), s.remaining(l, "api", c.key), int64(8))
	}
}

const multipartBody = "\nContent-Type: multipart/form-data; boundary=b\n\n" +
	"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"name\"\r\n\r\nx\r\n" +
	"--b\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nalice\r\n--b--\r\n"

func missing(s *suite) {
	for _, by := range []string{"header:X-Api-Key", "get:q", "post:q", "json:q", "user"} {
		for _, m := range []core.Missing{core.MissingIP, core.MissingShare, core.MissingSkip, core.MissingRefuse} {
			v := s.serve(routes(ok, []Layer{Limited(s.keyedLimiter(by, "1/m", m))}, "POST /"))
			got := ""
			for _, client := range []int{1, 1, 2} {
				got += v.send(client, "POST /?q="+urlencoded+"q=").String()[:3] + " "
			}
			s.equal(fmt.Sprintf("%s missing, %v", by, m), got, map[core.Missing]string{
				core.MissingIP:     "200 429 200 ",
				core.MissingShare:  "200 429 429 ",
				core.MissingSkip:   "200 200 200 ",
				core.MissingRefuse: "429 429 429 ",
			}[m])
		}
	}
	v := s.serve(route("GET", "/", ok, Limited(s.keyedLimiter("user", "1/m", core.MissingRefuse))))
	s.expect(v.send(1, "GET /"), `429 | "api";q=1;w=60 | "api";r=0 | violated "api"`)
}

func firstOfSeveral(s *suite) {
	l := s.keyedLimiter("header:X-Api-Key+get:q", "9/m", core.MissingIP)
	v := s.serve(routes(ok, []Layer{Limited(l)}, "GET /"))
	v.send(1, "GET /?q=1&q=2\nX-Api-Key: a\nX-Api-Key: b")
	s.expect(v.send(1, "GET /?q=1&q=3\nX-Api-Key: a\nX-Api-Key: c"), `200 | "api";q=9;w=60 | "api";r=7;t=60 | ok`)
}

// forwardings are fields in which a client, or a proxy, can claim an address.
var forwardings = []string{
	"X-Forwarded-For", "X-Real-IP", "CF-Connecting-IP", "True-Client-IP", "X-Client-IP",
	"X-Cluster-Client-IP", "X-Original-Forwarded-For", "X-Appengine-User-IP", "Fly-Client-IP", "X-ProxyUser-Ip",
}

func forged(s *suite) {
	l := s.limiter(exact("api", "5/m"))
	v := s.serve(route("GET", "/", ok, Limited(l)))
	for i, name := range append(forwardings, "Forwarded") {
		field := "\n" + name + ": 203.0.113.9"
		if name == "Forwarded" {
			field = "\nForwarded: for=203.0.113.9"
		}
		want := fmt.Sprintf(`200 | "api";q=5;w=60 | "api";r=%d;t=60 | ok`, 4-i)
		if i >= 5 {
			want = `429 | "api";q=5;w=60 | "api";r=0;t=60 | retry 60 | violated "api"`
		}
		s.expect(v.send(0, "GET /"+field+field), want)
	}
}

// behind is what a Limiter that trusts the loopback addresses takes for the
// client of a request with these fields.
func (s *suite) behind(c core.Config) func(fields string) string {
	s.Helper()
	hook := &addressHook{}
	p := exact("api", "1000/m")
	p.Hooks = hook
	c.Policies, c.Proxies = []core.Policy{p}, loopback
	v := s.serve(route("GET", "/", ok, Limited(s.configured(c))))
	return func(fields string) string {
		v.send(0, "GET /"+fields)
		return hook.seen.String()
	}
}

// addressHook notes the client's address.
type addressHook struct {
	core.Base
	seen netip.Addr
}

func (h *addressHook) KeyExtra(r core.Request, k core.Key) core.Key {
	h.seen = r.IP()
	return h.Base.KeyExtra(r, k)
}

func behindProxy(s *suite) {
	client := s.behind(core.Config{})
	for _, c := range [][2]string{
		{"", "127.0.0.1"},
		{"\nX-Forwarded-For: 203.0.113.9", "203.0.113.9"},
		{"\nX-Forwarded-For: 198.51.100.1, 203.0.113.9", "203.0.113.9"},
		{"\nX-Forwarded-For: 198.51.100.1\nX-Forwarded-For: 203.0.113.9, 127.0.0.5", "203.0.113.9"},
		{"\nX-Forwarded-For: 203.0.113.9, nonsense", "127.0.0.1"},
		{"\nX-Forwarded-For: 127.0.0.7, 127.0.0.8", "127.0.0.1"},
		{"\nX-Forwarded-For: ::ffff:203.0.113.9", "203.0.113.9"},
		{"\nX-Forwarded-For: ::ffff:cb00:7109", "203.0.113.9"},
		{"\nX-Forwarded-For: 2001:db8::1", "2001:db8::1"},
		{"\nX-Forwarded-For: [2001:db8::1%eth0]:4711", "2001:db8::1"},
		{"\nForwarded: for=198.51.100.1, for=\"[2001:db8::2]:1\";proto=https", "2001:db8::2"},
		{"\nForwarded: for=203.0.113.9\nX-Forwarded-For: 203.0.113.10", "127.0.0.1"},
		{"\nX-Real-IP: 203.0.113.9", "127.0.0.1"},
	} {
		s.equal(fmt.Sprintf("client of %q", c[0]), client(c[0]), c[1])
	}
}

func proxyHeader(s *suite) {
	client := s.behind(core.Config{ProxyHeader: "x-real-ip"})
	for _, c := range [][2]string{
		{"\nX-Real-IP: 203.0.113.9", "203.0.113.9"},
		{"\nX-Real-IP: 203.0.113.9\nX-Real-IP: 203.0.113.9", "127.0.0.1"},
		{"\nX-Real-IP: 203.0.113.9, 203.0.113.10", "127.0.0.1"},
		{"\nX-Forwarded-For: 203.0.113.9", "127.0.0.1"},
	} {
		s.equal(fmt.Sprintf("client of %q", c[0]), client(c[0]), c[1])
	}
}

func ipv6Peer(s *suite) {
	l := s.limiter(exact("api", "9/m"))
	v := s.serveOn("tcp6", "[::1]:0", route("GET", "/", ok, Limited(l)))
	s.expect(v.send(0, "GET /"), `200 | "api";q=9;w=60 | "api";r=8;t=60 | ok`)
	s.equal("left for ::/64", s.remaining(l, "api", core.KeyOfPrefix(netip.MustParsePrefix("::1/64"))), int64(8))
}

func mappedPeer(s *suite) {
	l := s.limiter(exact("api", "9/m"))
	v := s.serveOn("tcp", "[::]:0", route("GET", "/", ok, Limited(l)))
	_, port, err := net.SplitHostPort(v.addr)
	if err != nil {
		s.Fatal(err)
	}
	v.network, v.addr = "tcp4", "127.0.0.1:"+port
	s.expect(v.send(0, "GET /"), `200 | "api";q=9;w=60 | "api";r=8;t=60 | ok`)
	s.equal("left for 127.0.0.1", s.remaining(l, "api", clientKey(1)), int64(8))
}

func unixPeer(s *suite) {
	byIP, byKey := s.limiter(exact("api", "9/m")), s.keyedLimiter("header:X-Api-Key", "9/m", core.MissingIP)
	v := s.serveOn("unix", filepath.Join(s.TempDir(), "s"), App{Groups: []Group{{Routes: []Route{
		{"GET", "/ip", []Layer{Limited(byIP)}, ok},
		{"GET", "/key", []Layer{Limited(byKey)}, ok},
	}}}})
	s.expect(v.send(0, "GET /ip"), `400 | problem`)
	s.expect(v.send(0, "GET /ip\nX-Forwarded-For: 203.0.113.9"), `400 | problem`)
	s.expect(v.send(0, "GET /key\nX-Api-Key: alice"), `200 | "api";q=9;w=60 | "api";r=8;t=60 | ok`)
	s.expect(v.send(0, "GET /key"), `400 | problem`)
}
