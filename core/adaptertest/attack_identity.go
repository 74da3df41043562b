package adaptertest

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"

	"github.com/stint-go/stint/core"
)

// identityAttacks are those on who is counted.
var identityAttacks = map[string][]row{
	"E1":  {{"one socket with forged fields is one identity", forgedForever}, {"behind a proxy, what it has not written counts for nothing", spoofBehindProxy}},
	"E2":  {{"a chain of named proxies alone is no client's choice", allHopsNamed}},
	"E3":  {{"an IPv4 address is the same in all its spellings", mappedSpellings}},
	"E4":  {{"all addresses of a /64 are one client", rotateInPrefix}},
	"E5":  {{"a peer without an address is refused, not shared", unixPeer}},
	"E6":  {{"values that join alike are counted apart", joinedAlike}},
	"E8":  {{"a long value is refused, and never shortened", longValues}},
	"E9":  {{"a dimension that the client chooses frees nothing", chosenDimension}},
	"E10": {{"spellings of a name share its budget, tokens do not", foldedNames}},
	"E11": {{"what is missing", missing}, {"an empty value is a missing one", emptyValues}},
}

// forge is a set of forwarding fields that nobody has sent before.
func forge(r *rand.Rand) string {
	var b strings.Builder
	address := func() string {
		switch r.IntN(5) {
		case 0:
			return netip.AddrFrom4([4]byte{10, byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}).String()
		case 1:
			return fmt.Sprintf("2001:db8:%x:%x::%x", r.IntN(1<<16), r.IntN(1<<16), r.IntN(1<<16))
		case 2:
			return fmt.Sprintf("not-an-ip-%d", r.Uint32())
		case 3:
			return fmt.Sprintf("127.0.0.1, %d.9.9.9", 1+r.IntN(200))
		}
		return netip.AddrFrom4([4]byte{198, 51, byte(r.Uint32()), byte(r.Uint32())}).String()
	}
	for range 1 + r.IntN(4) {
		name := append(forwardings, "Forwarded")[r.IntN(len(forwardings)+1)]
		value := address()
		if name == "Forwarded" {
			value = `for="` + value + `";proto=https`
		}
		b.WriteString("\n" + name + ": " + value)
	}
	return b.String()
}

// forgedForever: 1,000 requests of one socket, each with forged fields.
func forgedForever(s *suite) {
	const limit = 10
	r := rand.New(rand.NewPCG(1, 2))
	p := exact("api", fmt.Sprint(limit, "/m"))
	w := s.serve(route("GET", "/", ok, Limited(s.limiter(p)))).dial(0)
	admitted := w.admitted(s.times(1000), func(int) string { return "GET /" + forge(r) })
	s.figure("spoofed identities from one socket", float64(admitted)/limit, 1)
}

func spoofBehindProxy(s *suite) {
	const limit = 10
	r := rand.New(rand.NewPCG(3, 4))
	l := s.configured(core.Config{Proxies: loopback, ProxyHeader: "X-Forwarded-For", Policies: []core.Policy{exact("api", fmt.Sprint(limit, "/m"))}})
	w := s.serve(route("GET", "/", ok, Limited(l))).dial(0)
	admitted := w.admitted(s.times(1000), func(int) string { return "GET /" + forge(r) + "\nX-Forwarded-For: spoof, 203.0.113.9" })
	s.figure("spoofed identities behind a proxy", float64(admitted)/limit, 1)
	s.equal("left for the real client", s.remaining(l, "api", core.KeyOfPrefix(netip.MustParsePrefix("203.0.113.9/32"))), int64(0))
}

// figure checks and prints a number that others want to read.
func (s *suite) figure(name string, got, want float64) {
	s.Helper()
	if got != want {
		s.Errorf("%s: %v, want %v", name, got, want)
	}
	s.Logf("figure: %s = %.1f (%s)", name, got, s.Name)
}

func allHopsNamed(s *suite) {
	private := netip.MustParsePrefix("10.0.0.0/8")
	l := s.configured(core.Config{Proxies: append(loopback, private), Policies: []core.Policy{exact("api", "10/m")}})
	w := s.serve(route("GET", "/", ok, Limited(l))).dial(0)
	r := rand.New(rand.NewPCG(5, 6))
	admitted := w.admitted(s.times(1000), func(i int) string {
		hops := make([]string, 1+i%40)
		for j := range hops {
			hops[j] = fmt.Sprintf("10.%d.%d.%d", r.IntN(256), r.IntN(256), r.IntN(256))
		}
		return "GET /\nX-Forwarded-For: " + strings.Join(hops, ", ")
	})
	s.equal("admitted", admitted, 10)
}

func mappedSpellings(s *suite) {
	l := s.configured(core.Config{Proxies: loopback, Policies: []core.Policy{exact("api", "100/m")}})
	v := s.serve(route("GET", "/", ok, Limited(l)))
	w := v.dial(0)
	for _, a := range []string{"1.2.3.4", "::ffff:1.2.3.4", "::ffff:102:304", "[::ffff:1.2.3.4]:80", "::ffff:1.2.3.4%eth0", "64:ff9b::1.2.3.4", "::FFFF:1.2.3.4", "0:0:0:0:0:ffff:0102:0304"} {
		s.equal(a, w.send("GET /\nX-Forwarded-For: "+a).status, 200)
	}
	for _, a := range []string{"::ffff:8.8.8.8", "2001:db8::1.2.3.4", "::1.2.3.4", "1.2.3.5"} {
		s.equal(a, w.send("GET /\nX-Forwarded-For: "+a).status, 200)
	}
	s.equal("left for 1.2.3.4", s.remaining(l, "api", core.KeyOfPrefix(netip.MustParsePrefix("1.2.3.4/32"))), int64(92))
	s.equal("left for 8.8.8.8", s.remaining(l, "api", core.KeyOfPrefix(netip.MustParsePrefix("8.8.8.8/32"))), int64(99))
	s.equal("left for 2001:db8::/64", s.remaining(l, "api", core.KeyOfPrefix(netip.MustParsePrefix("2001:db8::/64"))), int64(99))
}

func rotateInPrefix(s *suite) {
	l := s.configured(core.Config{Proxies: loopback, Policies: []core.Policy{exact("api", "10/m")}})
	w := s.serve(route("GET", "/", ok, Limited(l))).dial(0)
	r := rand.New(rand.NewPCG(7, 8))
	admitted := w.admitted(s.times(4096), func(int) string {
		return fmt.Sprintf("GET /\nX-Forwarded-For: 2001:db8:1:2:%x:%x:%x:%x", r.IntN(1<<16), r.IntN(1<<16), r.IntN(1<<16), r.IntN(1<<16))
	})
	s.equal("admitted", admitted, 10)
}

func joinedAlike(s *suite) {
	l := s.keyedLimiter("header:X-A+header:X-B", "1/m", core.MissingShare)
	w := s.serve(route("GET", "/", ok, Limited(l))).dial(1)
	parts := [][2]string{{"a", "b_c"}, {"a_b", "c"}, {"a:b", "c"}, {"a", "b:c"}, {"a/b", "c"}, {"a", "b/c"}, {"ab", "c"}, {"a", "bc"},
		{"abc", ""}, {"", "abc"}, {"127.0.0.1", ""}, {"", "127.0.0.1"}, {"a%00b", "c"}, {"a|b", "c"}, {"a\tb", "c"}, {"a", "b\tc"}, {"a,b", "c"}, {"c", "a,b"}}
	for _, want := range []int{200, 429} {
		for _, p := range parts {
			s.equal(fmt.Sprintf("%q", p), w.send("GET /\nX-A: "+p[0]+"\nX-B: "+p[1]).status, want)
		}
	}
	l = s.keyedLimiter("get:a+get:b", "1/m", core.MissingShare)
	w = s.serve(route("GET", "/", ok, Limited(l))).dial(1)
	for _, want := range []int{200, 429} { // what a part looks like when it is encoded, as a value
		for _, query := range []string{"a=1%03b2&b=3", "a=1&b=2%03b3", "a=1%03%01b%012&b=3", "a=1&b=2%03%01b%013", "a=1%00&b=2", "a=1&b=%002"} {
			s.equal(query, w.send("GET /?"+query).status, want)
		}
	}
}

func longValues(s *suite) {
	const most = 8 << 10
	l := s.keyedLimiter("header:X-Api-Key", "1/m", core.MissingIP)
	v := s.serve(route("GET", "/", ok, Limited(l)))
	long := strings.Repeat("k", most-1)
	s.equal("8 KiB", v.send(1, "GET /\nX-Api-Key: "+long+"a").status, 200)
	s.equal("the same again", v.send(1, "GET /\nX-Api-Key: "+long+"a").status, 429)
	s.equal("another in its last byte", v.send(1, "GET /\nX-Api-Key: "+long+"b").status, 200)
	s.expect(v.send(1, "GET /\nX-Api-Key: "+long+"ab"), `400 | problem`)
	form := s.withBody("post:name")
	s.expect(form.send(1, "POST /"+urlencoded+"name="+long+"ab"), `400 | problem`)
	s.equal("3 MiB", form.large("POST /"+urlencoded+"name="+strings.Repeat("x", 3<<20)), "413 problem")
}

// chosenDimension: attempts with ever new names, tokens and codes stay within
// the client's own budget.
func chosenDimension(s *suite) {
	for _, by := range []string{"each(ip,post:email)", "each(ip,header:Authorization)"} {
		p := exact("login", "10/m")
		p.By = by
		l := s.limiter(p)
		w := s.serve(route("POST", "/verify/{code}", ok, Limited(l))).dial(1)
		s.equal(by, w.admitted(max(20, s.times(200)), func(i int) string {
			return fmt.Sprintf("POST /verify/%d\nAuthorization: Bearer %d%semail=%d", i, i, urlencoded, i)
		}), 10)
	}
}

// capitals is the i-th way to write a word of up to 6 letters with capitals.
func capitals(word string, i int) string {
	b := []byte(word)
	for j := range b {
		if i>>j&1 == 1 {
			b[j] -= 'a' - 'A'
		}
	}
	return string(b)
}

func foldedNames(s *suite) {
	l := s.keyedLimiter("fold(post:username)", "5/m", core.MissingIP)
	w := s.serve(route("POST", "/", ok, Limited(l))).dial(1)
	s.equal("admitted of 64 spellings", w.admitted(64, func(i int) string {
		return "POST /" + urlencoded + "username=" + []string{"", "+", "%20%09"}[i%3] + capitals("marion", i) + []string{"", "%0a"}[i%2]
	}), 5)
	tokens := s.keyedLimiter("header:X-Api-Key", "5/m", core.MissingIP)
	w = s.serve(route("GET", "/", ok, Limited(tokens))).dial(1)
	s.equal("admitted of 64 tokens, thrice", w.admitted(3*64, func(i int) string { return "GET /\nX-Api-Key: " + capitals("marion", i%64) }), 3*64)
}

// emptyValues: a field that is there without a value is a missing one.
func emptyValues(s *suite) {
	for by, request := range map[string]string{
		"header:X-Api-Key": "POST /\nX-Api-Key:",
		"get:q":            "POST /?q=&q=2",
		"post:q":           "POST /" + urlencoded + "q=&q=2",
		"json:q":           "POST /" + jsonBody + `{"q":null}`,
		"user":             "POST /\nX-User: ",
		"fold(get:q)":      "POST /?q=%20%20",
	} {
		v := s.serve(route("POST", "/", ok, Limited(s.keyedLimiter(by, "1/m", core.MissingRefuse))))
		if got := v.ask(1, request).status; got != 429 {
			s.Errorf("%s, %q: %d, want 429", by, request, got)
		}
	}
}
