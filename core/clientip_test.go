package core

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
)

// A hopRequest is a Native of which only what tells the client's address may be
// asked; all else panics.
type hopRequest struct {
	Native
	peer   netip.Addr
	header map[string][]string
	asked  *int
}

func (r hopRequest) Peer() netip.Addr { return r.peer }

func (r hopRequest) HeaderValues(name string) []string {
	if r.asked != nil {
		*r.asked++
	}
	return r.header[name]
}

func proxyPrefixes(texts ...string) (ps []netip.Prefix) {
	for _, s := range texts {
		ps = append(ps, netip.MustParsePrefix(s))
	}
	return ps
}

func mustClientIP(t testing.TB, header string, proxies ...string) *clientIP {
	t.Helper()
	c, err := newClientIP(proxyPrefixes(proxies...), header)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ipAddr is the address, or the invalid one for "".
func ipAddr(s string) netip.Addr {
	if s == "" {
		return netip.Addr{}
	}
	return netip.MustParseAddr(s)
}

// headerLines reads "Name: value" lines.
func headerLines(lines ...string) map[string][]string {
	h := map[string][]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h[name] = append(h[name], value)
	}
	return h
}

func TestClientIsThePeerUnlessProxiesAreNamed(t *testing.T) {
	forged := headerLines("X-Forwarded-For: 6.6.6.6", "Forwarded: for=6.6.6.6", "X-Real-Ip: 6.6.6.6",
		"Cf-Connecting-Ip: 6.6.6.6", "True-Client-Ip: 6.6.6.6")
	for _, c := range []*clientIP{
		{},
		mustClientIP(t, ""),
		mustClientIP(t, "", "10.0.0.0/8"),
		mustClientIP(t, "Forwarded", "10.0.0.0/8", "2001:db8:ffff::/48"),
		mustClientIP(t, "X-Real-IP", "10.0.0.0/8"),
	} {
		for _, tt := range []struct{ peer, want string }{
			{"1.2.3.4", "1.2.3.4"},
			{"::ffff:1.2.3.4", "1.2.3.4"},
			{"::ffff:1.2.3.4%eth0", "1.2.3.4"},
			{"2001:db8::1", "2001:db8::1"},
			{"fe80::1%lo", "fe80::1"},
			{"", ""}, // unix socket
		} {
			asked := 0
			got := c.resolve(hopRequest{peer: ipAddr(tt.peer), header: forged, asked: &asked})
			if got != ipAddr(tt.want) || asked != 0 {
				t.Errorf("proxies %v: peer %s is %v (%d headers read), want %q (0)", c.proxies, tt.peer, got, asked, tt.want)
			}
		}
	}
}

func TestClientBehindProxies(t *testing.T) {
	proxies := []string{"10.0.0.0/8", "2001:db8:ffff::/48", "::ffff:192.0.2.0/120"}
	const xff, fwd = "X-Forwarded-For: ", "Forwarded: "
	many := func(n int, s string) string { return strings.Repeat(s+", ", n-1) + s }
	for _, tt := range []struct {
		name, header, peer, want string
		lines                    []string
	}{
		{"one hop", "", "10.0.0.1", "1.2.3.4", []string{xff + "1.2.3.4"}},
		{"forged to the left", "", "10.0.0.1", "1.2.3.4", []string{xff + "6.6.6.6, 1.2.3.4"}},
		{"forged as a proxy", "", "10.0.0.1", "1.2.3.4", []string{xff + "6.6.6.6, 10.0.0.9, 1.2.3.4"}},
		{"two proxies", "", "10.0.0.1", "1.2.3.4", []string{xff + "6.6.6.6, 1.2.3.4, 10.0.0.2"}},
		{"lines in order", "", "10.0.0.1", "1.2.3.4", []string{xff + "6.6.6.6", xff + "7.7.7.7, 1.2.3.4", xff + "10.0.0.2, 10.0.0.3"}},
		{"mapped peer is a proxy", "", "::ffff:10.0.0.1", "1.2.3.4", []string{xff + "1.2.3.4"}},
		{"mapped prefix holds a plain peer", "", "192.0.2.200", "1.2.3.4", []string{xff + "1.2.3.4"}},
		{"zoned peer is a proxy", "", "2001:db8:ffff::1%eth0", "1.2.3.4", []string{xff + "1.2.3.4"}},
		{"mapped hop is a proxy", "", "10.0.0.1", "1.2.3.4", []string{xff + "1.2.3.4, ::ffff:10.0.0.2"}},
		{"mapped hop", "", "10.0.0.1", "1.2.3.4", []string{xff + "::ffff:102:304"}},
		{"zoned hop", "", "10.0.0.1", "fe80::1", []string{xff + "fe80::1%eth0"}},
		{"port", "", "10.0.0.1", "1.2.3.4", []string{xff + "1.2.3.4:65535"}},
		{"brackets", "", "10.0.0.1", "2001:db8::1", []string{xff + "[2001:db8::1]"}},
		{"brackets and port", "", "10.0.0.1", "2001:db8::1", []string{xff + "\t[2001:db8::1%x]:80 "}},
		{"junk beyond the client", "", "10.0.0.1", "1.2.3.4", []string{xff + strings.Repeat("x,", 9000), xff + "\x01\xff\", 1.2.3.4"}},

		{"no header", "", "10.0.0.1", "10.0.0.1", nil},
		{"empty header", "", "10.0.0.1", "10.0.0.1", []string{xff}},
		{"nothing appended", "", "10.0.0.1", "10.0.0.1", []string{xff + "6.6.6.6,"}},
		{"empty line appended", "", "10.0.0.1", "10.0.0.1", []string{xff + "6.6.6.6", xff}},
		{"garbage stops the walk", "", "10.0.0.1", "10.0.0.1", []string{xff + "6.6.6.6, unknown, 10.0.0.2"}},
		{"garbage at the end", "", "10.0.0.1", "10.0.0.1", []string{xff + "6.6.6.6, not-an-ip-\x01-A"}},
		{"zone on IPv4", "", "10.0.0.1", "10.0.0.1", []string{xff + "1.2.3.4%x"}},
		{"zone alone", "", "10.0.0.1", "10.0.0.1", []string{xff + "%x"}},
		{"port of letters", "", "10.0.0.1", "10.0.0.1", []string{xff + "1.2.3.4:http"}},
		{"port too long", "", "10.0.0.1", "10.0.0.1", []string{xff + "1.2.3.4:123456"}},
		{"port missing", "", "10.0.0.1", "10.0.0.1", []string{xff + "1.2.3.4:"}},
		{"bracket open", "", "10.0.0.1", "10.0.0.1", []string{xff + "[2001:db8::1"}},
		{"bracketed IPv4", "", "10.0.0.1", "10.0.0.1", []string{xff + "[1.2.3.4]:80"}},
		{"text after the bracket", "", "10.0.0.1", "10.0.0.1", []string{xff + "[2001:db8::1]80"}},
		{"octal", "", "10.0.0.1", "10.0.0.1", []string{xff + "1.2.3.04"}},
		{"proxies alone", "", "10.0.0.1", "10.0.0.1", []string{xff + "10.66.66.66, 10.0.0.2"}},
		{"32 hops", "", "10.0.0.1", "1.2.3.4", []string{xff + "1.2.3.4, " + many(31, "10.0.0.2")}},
		{"33 hops", "", "10.0.0.1", "10.0.0.1", []string{xff + "1.2.3.4, " + many(32, "10.0.0.2")}},
		{"33 lines", "", "10.0.0.1", "10.0.0.1", strings.Split(xff+"1.2.3.4"+strings.Repeat("\n"+xff+"10.0.0.2", 32), "\n")},
		{"4 KiB", "", "10.0.0.1", "1.2.3.4", []string{xff + "1.2.3.4," + strings.Repeat(" ", maxHopsBytes-8-len("10.0.0.2,")+1) + "10.0.0.2"}},
		{"4 KiB and more", "", "10.0.0.1", "10.0.0.1", []string{xff + "1.2.3.4," + strings.Repeat(" ", maxHopsBytes-len("10.0.0.2,")) + "10.0.0.2"}},
		{"a hop cut by 4 KiB is not its tail", "", "10.0.0.1", "10.0.0.1", []string{xff + "x1.2.3.4" + strings.Repeat(" ", maxHopsBytes-7)}},

		{"RFC 7239", "", "10.0.0.1", "1.2.3.4", []string{fwd + `for=6.6.6.6, For=1.2.3.4;proto=http;by=203.0.113.43`}},
		{"RFC 7239, quoted", "", "10.0.0.1", "2001:db8:cafe::17", []string{fwd + `proto=https; FOR="[2001:db8:cafe::17]:4711"`}},
		{"RFC 7239, obfuscated port", "", "10.0.0.1", "1.2.3.4", []string{fwd + `for="1.2.3.4:_b-1"`}},
		{"RFC 7239, proxies and lines", "", "10.0.0.1", "1.2.3.4", []string{fwd + `for=6.6.6.6`, fwd + `for=1.2.3.4, for="10.0.0.2:80";host="a,b;for=9.9.9.9"`}},
		{"RFC 7239, quote left open by the client", "", "10.0.0.1", "1.2.3.4", []string{fwd + `for="6.6.6.6, for=1.2.3.4`}},
		{"RFC 7239, quote left open on the way", "", "10.0.0.1", "10.0.0.1", []string{fwd + `for=6.6.6.6, for="10.0.0.2`}},
		{"RFC 7239, escape", "", "10.0.0.1", "10.0.0.1", []string{fwd + `for=1.2.3.4;host="a\"b"`}},
		{"RFC 7239, element in an escaped quote", "", "10.0.0.1", "10.0.0.1", []string{fwd + `for=1.2.3.4;host="a\", for=6.6.6.6;x=\"b"`}},
		{"RFC 7239, quote left open at the left end", "", "10.0.0.1", "10.0.0.1", []string{fwd + `for=1.2.3.4;host="a`}},
		{"RFC 7239, obfuscated", "", "10.0.0.1", "10.0.0.1", []string{fwd + `for=6.6.6.6, for=_gazonk`}},
		{"RFC 7239, unknown", "", "10.0.0.1", "10.0.0.1", []string{fwd + `for=6.6.6.6, for=unknown`}},
		{"RFC 7239, no for", "", "10.0.0.1", "10.0.0.1", []string{fwd + `for=6.6.6.6, by=1.2.3.4`}},
		{"RFC 7239, two for", "", "10.0.0.1", "10.0.0.1", []string{fwd + `for=6.6.6.6;for=1.2.3.4`}},
		{"RFC 7239, space at the equals sign", "", "10.0.0.1", "10.0.0.1", []string{fwd + `for =1.2.3.4`}},
		{"RFC 7239, only a quote", "", "10.0.0.1", "10.0.0.1", []string{fwd + `for="`}},

		{"both headers agree", "", "10.0.0.1", "1.2.3.4", []string{xff + "6.6.6.6, 1.2.3.4", fwd + "for=1.2.3.4"}},
		{"Forwarded passed through", "", "10.0.0.1", "10.0.0.1", []string{xff + "1.2.3.4", fwd + "for=6.6.6.6"}},
		{"X-Forwarded-For passed through, broken", "", "10.0.0.1", "10.0.0.1", []string{xff + "?", fwd + "for=6.6.6.6"}},
		{"Forwarded passed through, broken", "", "10.0.0.1", "10.0.0.1", []string{xff + "1.2.3.4", fwd + "?"}},
		{"X-Forwarded-For named", "x-forwarded-for", "10.0.0.1", "1.2.3.4", []string{xff + "1.2.3.4", fwd + "for=6.6.6.6"}},
		{"Forwarded named", "forwarded", "10.0.0.1", "1.2.3.4", []string{xff + "6.6.6.6", fwd + "for=1.2.3.4"}},
		{"Forwarded named and absent", "forwarded", "10.0.0.1", "10.0.0.1", []string{xff + "6.6.6.6"}},

		{"single", "X-Real-IP", "10.0.0.1", "1.2.3.4", []string{"X-Real-Ip: 1.2.3.4", xff + "6.6.6.6", fwd + "for=6.6.6.6"}},
		{"single, mapped", "CF-Connecting-IP", "10.0.0.1", "1.2.3.4", []string{"Cf-Connecting-Ip: ::ffff:1.2.3.4"}},
		{"single, absent", "X-Real-IP", "10.0.0.1", "10.0.0.1", []string{xff + "6.6.6.6"}},
		{"single, garbage", "X-Real-IP", "10.0.0.1", "10.0.0.1", []string{"X-Real-Ip: unknown"}},
		{"single with two values", "X-Real-IP", "10.0.0.1", "10.0.0.1", []string{"X-Real-Ip: 6.6.6.6, 1.2.3.4"}},
		{"single with two lines", "X-Real-IP", "10.0.0.1", "10.0.0.1", []string{"X-Real-Ip: 6.6.6.6", "X-Real-Ip: 1.2.3.4"}},
		{"single naming a proxy", "X-Real-IP", "10.0.0.1", "10.0.0.1", []string{"X-Real-Ip: 10.0.0.2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := mustClientIP(t, tt.header, proxies...)
			got := c.resolve(hopRequest{peer: ipAddr(tt.peer), header: headerLines(tt.lines...)})
			if got != ipAddr(tt.want) {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}

// A client can write anything to the left of what the proxy appends, and any
// header that the proxy does not write. Whatever it sends, it is one client.
func TestForgedHopsAreOneClient(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	forgeries := []func() string{
		func() string { return fmt.Sprintf("10.%d.%d.%d", rng.IntN(256), rng.IntN(256), rng.IntN(256)) },
		func() string { return fmt.Sprintf("%d.%d.1.1", 20+rng.IntN(200), rng.IntN(256)) },
		func() string { return fmt.Sprintf("2001:db8::%x", rng.IntN(1<<16)) },
		func() string { return fmt.Sprintf(`"[2001:db8::%x`, rng.IntN(1<<16)) },
		func() string { return fmt.Sprintf("for=20.0.%d.1", rng.IntN(256)) },
	}
	forge := func() string {
		var hops []string
		for range rng.IntN(50) {
			hops = append(hops, forgeries[rng.IntN(len(forgeries))]())
		}
		return strings.Join(hops, ",")
	}
	join := func(list, hop string) string { return strings.TrimPrefix(list+", "+hop, ", ") }
	for _, tt := range []struct {
		name, header, want string
		send               func() map[string][]string
	}{
		{"X-Forwarded-For appended", "", "1.2.3.4", func() map[string][]string {
			return map[string][]string{"X-Forwarded-For": {join(forge(), "1.2.3.4")}, "X-Real-Ip": {forge()}}
		}},
		{"X-Forwarded-For appended as a line", "X-Forwarded-For", "1.2.3.4", func() map[string][]string {
			return map[string][]string{"X-Forwarded-For": {forge(), forge(), "1.2.3.4"}, "Forwarded": {forge()}}
		}},
		{"Forwarded appended", "Forwarded", "1.2.3.4", func() map[string][]string {
			return map[string][]string{"Forwarded": {forge(), join(forge(), "for=1.2.3.4")}, "X-Forwarded-For": {forge()}}
		}},
		{"X-Forwarded-For appended, Forwarded passed through", "", "10.0.0.1", func() map[string][]string {
			return map[string][]string{"X-Forwarded-For": {join(forge(), "1.2.3.4")}, "Forwarded": {"for=20.1.1.1", forge()}}
		}},
		{"Forwarded appended, X-Forwarded-For passed through", "", "10.0.0.1", func() map[string][]string {
			return map[string][]string{"X-Forwarded-For": {forge()}, "Forwarded": {join(forge(), "for=1.2.3.4")}}
		}},
		{"proxies alone", "", "10.0.0.1", func() map[string][]string {
			var hops []string
			for range 1 + rng.IntN(1000) {
				hops = append(hops, forgeries[0]())
			}
			return map[string][]string{"X-Forwarded-For": {strings.Join(hops, ", ")}}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := mustClientIP(t, tt.header, "10.0.0.0/8")
			for range 1000 {
				h := tt.send()
				if got := c.resolve(hopRequest{peer: ipAddr("10.0.0.1"), header: h}); got != ipAddr(tt.want) {
					t.Fatalf("got %v, want %s, for %q", got, tt.want, h)
				}
			}
		})
	}
}

func TestClientIPConfiguration(t *testing.T) {
	_, err := newClientIP([]netip.Prefix{
		{},
		netip.MustParsePrefix("10.1.2.3/8"),
		netip.PrefixFrom(ipAddr("10.0.0.0"), 33),
		netip.MustParsePrefix("::ffff:10.0.0.0/95"),
	}, "X Real IP")
	want := `stint: proxy 1 of 4: the prefix is not set or out of range; write for example netip.MustParsePrefix("10.0.0.0/8")
stint: proxy 3 of 4: the prefix is not set or out of range; write for example netip.MustParsePrefix("10.0.0.0/8")
stint: proxy 4 of 4: ::ffff:10.0.0.0/95 is wider than the IPv4 addresses; name IPv4 and IPv6 prefixes apart
stint: proxy header "X Real IP" is no header name; write for example "X-Real-IP"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	_, err = newClientIP(nil, "X-Real-IP")
	want = `stint: proxy header "X-Real-IP" is believed from named proxies only; name their prefixes`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	given := proxyPrefixes("10.0.0.0/8")
	c, err := newClientIP(given, "")
	if err != nil {
		t.Fatal(err)
	}
	given[0] = netip.MustParsePrefix("0.0.0.0/0")
	if got := c.resolve(hopRequest{peer: ipAddr("1.1.1.1"), header: headerLines("X-Forwarded-For: 6.6.6.6")}); got != ipAddr("1.1.1.1") {
		t.Errorf("the caller's slice is still in use: got %v", got)
	}
}

func TestClientIPAllocatesNothing(t *testing.T) {
	xff := headerLines("X-Forwarded-For: 6.6.6.6, [2001:db8::1]:443, 10.0.0.2")
	for _, tt := range []struct {
		name   string
		c      *clientIP
		peer   string
		header map[string][]string
	}{
		{"direct", mustClientIP(t, ""), "1.2.3.4", nil},
		{"untrusted", mustClientIP(t, "", "10.0.0.0/8"), "1.2.3.4", xff},
		{"zoned", mustClientIP(t, "", "10.0.0.0/8"), "fe80::1%eth0", xff},
		{"one line", mustClientIP(t, "", "10.0.0.0/8"), "10.0.0.1", xff},
		{"Forwarded", mustClientIP(t, "", "10.0.0.0/8"), "10.0.0.1", headerLines(`Forwarded: for="[2001:db8::1]:443", for=10.0.0.2`)},
		{"single", mustClientIP(t, "X-Real-IP", "10.0.0.0/8"), "10.0.0.1", headerLines("X-Real-Ip: 1.2.3.4")},
	} {
		var n Native = &hopRequest{peer: ipAddr(tt.peer), header: tt.header}
		if got := testing.AllocsPerRun(100, func() { tt.c.resolve(n) }); got != 0 {
			t.Errorf("%s: %v allocations", tt.name, got)
		}
	}
}

func BenchmarkClientIP(b *testing.B) {
	for name, r := range map[string]*hopRequest{
		"direct": {peer: ipAddr("1.2.3.4")},
		"xff":    {peer: ipAddr("10.0.0.1"), header: headerLines("X-Forwarded-For: 6.6.6.6, 1.2.3.4")},
	} {
		c := mustClientIP(b, "", "10.0.0.0/8")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.resolve(r)
			}
		})
	}
}

// FuzzClientIP: whatever is sent, the result is the peer or an address that the
// headers name, it is normal, it is no proxy unless it is the peer, and what an
// untrusted peer sends is not read.
func FuzzClientIP(f *testing.F) {
	f.Add("10.0.0.1", "6.6.6.6, 1.2.3.4", "10.0.0.2", "", uint8(0))
	f.Add("::ffff:10.0.0.1", "::ffff:1.2.3.4%x:1", "", `for="[2001:db8::1]:80";by=x, for=10.0.0.2`, uint8(2))
	f.Add("2001:db8:ffff::1%eth0", "", "1.2.3.4:80", `for=1.2.3.4`, uint8(1))
	f.Add("10.0.0.1", "[::ffff:1.2.3.4]:80", "", "", uint8(3))
	proxies := []string{"10.0.0.0/8", "2001:db8:ffff::/48", "::ffff:192.0.2.0/120"}
	resolvers := []*clientIP{mustClientIP(f, "", proxies...), mustClientIP(f, "X-Forwarded-For", proxies...),
		mustClientIP(f, "Forwarded", proxies...), mustClientIP(f, "X-Real-IP", proxies...)}
	f.Fuzz(func(t *testing.T, peerText, line1, line2, forwarded string, which uint8) {
		peer, _ := netip.ParseAddr(peerText)
		c := resolvers[int(which)%len(resolvers)]
		h := map[string][]string{"X-Forwarded-For": {line1, line2}, "Forwarded": {forwarded}, "X-Real-Ip": {line1}}
		if forwarded == "" {
			delete(h, "Forwarded")
		}
		asked := 0
		got := c.resolve(hopRequest{peer: peer, header: h, asked: &asked})
		normal := normalAddr(peer)
		switch {
		case got.Zone() != "" || got.Is4In6() || got != normalAddr(got):
			t.Fatalf("%v is not normal", got)
		case got.IsValid() != peer.IsValid():
			t.Fatalf("peer %v became %v", peer, got)
		case !c.isProxy(normal) && (got != normal || asked > 0):
			t.Fatalf("untrusted peer %v became %v, %d headers read", peer, got, asked)
		case c.isProxy(got) && got != normal:
			t.Fatalf("peer %v: the proxy %v became the client", peer, got)
		}
		// Once more with the result as the peer: it is no proxy, so it stays.
		if again := c.resolve(hopRequest{peer: got, header: h}); got != normal && again != got {
			t.Fatalf("%v became %v", got, again)
		}
		// A hop appended by the proxy is the client, whatever stands to the left.
		h["X-Forwarded-For"] = []string{line1, line2 + ",198.51.100.7"}
		if got := resolvers[1].resolve(hopRequest{peer: ipAddr("10.0.0.1"), header: h}); got != ipAddr("198.51.100.7") {
			t.Fatalf("%q: got %v", h, got)
		}
		h["Forwarded"] = []string{forwarded + ",for=198.51.100.7"}
		if got := resolvers[2].resolve(hopRequest{peer: ipAddr("10.0.0.1"), header: h}); got != ipAddr("198.51.100.7") {
			t.Fatalf("%q: got %v", h, got)
		}
		cut, _ := newIPCut(0, 0)
		if p := cut.prefix(got); p.IsValid() != got.IsValid() || p != p.Masked() || p.IsValid() && cut.prefix(p.Addr()) != p {
			t.Fatalf("%v is cut to %v", got, p)
		}
	})
}
