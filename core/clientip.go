package core

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Limits of the walk through forwarded hops. Only what lies right of the
// client's own entry is ever walked, so a client can't reach them by sending
// long headers: they stop a chain that has no end in sight.
const (
	maxHops      = 32
	maxHopsBytes = 4 << 10
)

// A clientIP finds the address of the client of a request: the TCP peer, unless
// the peer is a named proxy; then what that proxy says of it. It is immutable
// and safe for concurrent use. The zero clientIP trusts no one.
//
// A proxy appends the address that it was called from to the right of what it
// was sent, so only the right end of the chain is not the client's invention.
// The walk begins there and the first address that is no named proxy is the
// client. Whatever is not plainly so falls back to the peer, which a client can
// not choose: an entry that is no address, a chain without end, and a chain
// that consists of named proxies alone (its left end is the client's to write).
type clientIP struct {
	proxies []netip.Prefix
	source  hopSource
	header  string // for headerSingle: in canonical form
}

type hopSource uint8

const (
	// hopsEither reads X-Forwarded-For and Forwarded. Where both are there they
	// must tell the same client: a proxy writes one of them and hands on
	// whatever the client put into the other.
	hopsEither hopSource = iota
	hopsXForwardedFor
	hopsForwarded
	hopsSingle // a header that the proxy overwrites, such as X-Real-IP
)

// newClientIP takes the prefixes of the proxies in front of the application, and
// the header that they write: X-Forwarded-For, Forwarded, any other name for a
// header with one address that they overwrite, or "" for whichever of the first
// two is there. All that is wrong is in one error.
func newClientIP(proxies []netip.Prefix, header string) (*clientIP, error) {
	c := &clientIP{header: canonicalHeader(header)}
	var errs []error
	for i, p := range proxies {
		normal, err := proxyPrefix(p)
		if err != nil {
			errs = append(errs, fmt.Errorf("stint: proxy %d of %d: %w", i+1, len(proxies), err))
			continue
		}
		c.proxies = append(c.proxies, normal)
	}
	switch c.header {
	case "":
		c.source = hopsEither
	case "X-Forwarded-For":
		c.source = hopsXForwardedFor
	case "Forwarded":
		c.source = hopsForwarded
	default:
		c.source = hopsSingle
	}
	if !isToken(header) && header != "" {
		errs = append(errs, fmt.Errorf("stint: proxy header %s is no header name; write for example \"X-Real-IP\"",
			excerpt(header, maxExcerpt)))
	}
	if header != "" && len(proxies) == 0 {
		errs = append(errs, fmt.Errorf("stint: proxy header %s is believed from named proxies only; name their prefixes",
			excerpt(header, maxExcerpt)))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// proxyPrefix is the prefix as normal addresses are compared with it:
// Prefix.Contains is false for v4-mapped addresses, on either side.
func proxyPrefix(p netip.Prefix) (netip.Prefix, error) {
	switch {
	case !p.IsValid():
		return p, errors.New(`the prefix is not set or out of range; write for example netip.MustParsePrefix("10.0.0.0/8")`)
	case !p.Addr().Is4In6():
		return p, nil
	case p.Bits() < 96:
		return p, fmt.Errorf("%v is wider than the IPv4 addresses; name IPv4 and IPv6 prefixes apart", p)
	}
	return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96), nil
}

// resolve is the client's address, normal; invalid where there is none. The
// headers of a peer that is no named proxy are not read.
func (c *clientIP) resolve(n Native) netip.Addr {
	peer := normalAddr(n.Peer())
	if len(c.proxies) == 0 || !c.isProxy(peer) {
		return peer
	}
	client, ok := c.forwarded(n)
	if !ok {
		return peer
	}
	return client
}

func (c *clientIP) forwarded(n Native) (client netip.Addr, ok bool) {
	switch c.source {
	case hopsXForwardedFor:
		return c.walk(n.HeaderValues("X-Forwarded-For"), cutHop, parseHop)
	case hopsForwarded:
		return c.walk(n.HeaderValues("Forwarded"), cutElement, parseElement)
	case hopsSingle:
		return c.single(n.HeaderValues(c.header))
	}
	xff, fwd := n.HeaderValues("X-Forwarded-For"), n.HeaderValues("Forwarded")
	if len(fwd) == 0 {
		return c.walk(xff, cutHop, parseHop)
	}
	client, ok = c.walk(fwd, cutElement, parseElement)
	if len(xff) > 0 {
		other, _ := c.walk(xff, cutHop, parseHop)
		ok = ok && other == client
	}
	return client, ok
}

// single takes a header that the proxy overwrites: one line, one address. Two
// say that the proxy only adds to what the client sent.
func (c *clientIP) single(lines []string) (netip.Addr, bool) {
	if len(lines) != 1 {
		return netip.Addr{}, false
	}
	a, ok := parseHop(lines[0])
	return a, ok && !c.isProxy(a)
}

// walk goes through the hops of all lines from right to left. cut takes the last
// hop off a line, parse is its address.
func (c *clientIP) walk(
	lines []string,
	cut func(string) (rest, hop string, more, ok bool),
	parse func(string) (netip.Addr, bool),
) (netip.Addr, bool) {
	hops, left := maxHops, maxHopsBytes
	for i := len(lines) - 1; i >= 0; i-- {
		line, more := lines[i], true
		for more {
			// Cutting looks at no more than what is left of the budget; a hop
			// that does not begin within it is broken by that, and refused.
			window := line[max(0, len(line)-left):]
			outside := len(line) - len(window)
			rest, hop, cutMore, ok := cut(window)
			if hops--; hops < 0 || !ok || !cutMore && outside > 0 {
				return netip.Addr{}, false
			}
			addr, ok := parse(hop)
			if !ok {
				return netip.Addr{}, false
			}
			if !c.isProxy(addr) {
				return addr, true
			}
			left -= len(window) - len(rest)
			line, more = line[:outside+len(rest)], cutMore
		}
	}
	return netip.Addr{}, false
}

func (c *clientIP) isProxy(a netip.Addr) bool {
	for _, p := range c.proxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// cutHop cuts the last entry off a line of X-Forwarded-For.
func cutHop(line string) (rest, hop string, more, ok bool) {
	if i := strings.LastIndexByte(line, ','); i >= 0 {
		return line[:i], line[i+1:], true, true
	}
	return "", line, false, true
}

// cutElement cuts the last element off a line of Forwarded (RFC 7239). It reads
// from the right like the walk, so that a quote which the client left open
// further left swallows nothing. Escapes can't be told from that side; no
// address needs one.
func cutElement(line string) (rest, element string, more, ok bool) {
	quoted := false
	for i := len(line) - 1; i >= 0; i-- {
		switch line[i] {
		case '\\':
			return "", "", false, false
		case '"':
			quoted = !quoted
		case ',':
			if !quoted {
				return line[:i], line[i+1:], true, true
			}
		}
	}
	return "", line, false, !quoted
}

// parseElement is the address of the one "for" parameter of an element of
// Forwarded. Obfuscated identifiers and "unknown" are no addresses.
func parseElement(element string) (addr netip.Addr, ok bool) {
	for more := true; more; {
		var pair string
		pair, element, more = cutPair(element)
		name, value, _ := strings.Cut(strings.Trim(pair, " \t"), "=")
		if !strings.EqualFold(name, "for") {
			continue
		}
		if addr.IsValid() {
			return netip.Addr{}, false // a second one: which?
		}
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		if addr, ok = parseHop(value); !ok {
			return netip.Addr{}, false
		}
	}
	return addr, addr.IsValid()
}

// cutPair cuts at the first ";" outside quotes.
func cutPair(element string) (pair, rest string, more bool) {
	quoted := false
	for i := range len(element) {
		switch {
		case element[i] == '"':
			quoted = !quoted
		case element[i] == ';' && !quoted:
			return element[:i], element[i+1:], true
		}
	}
	return element, "", false
}

// parseHop is the address of a hop as proxies write it: 192.0.2.1,
// 192.0.2.1:80, 2001:db8::1, [2001:db8::1], [2001:db8::1]:80.
func parseHop(hop string) (netip.Addr, bool) {
	hop = strings.Trim(hop, " \t")
	host, port, ok := hop, "", true
	if strings.HasPrefix(hop, "[") {
		host, port, ok = strings.Cut(hop[1:], "]")
		if !ok || strings.IndexByte(host, ':') < 0 || port != "" && !isPort(port) {
			return netip.Addr{}, false
		}
	} else if i := strings.IndexByte(hop, ':'); i >= 0 && i == strings.LastIndexByte(hop, ':') {
		if host = hop[:i]; !isPort(hop[i:]) {
			return netip.Addr{}, false
		}
	}
	// A zone means nothing here; cut it, or netip would intern the client's text.
	if i := strings.IndexByte(host, '%'); i >= 0 {
		if strings.IndexByte(host[:i], ':') < 0 {
			return netip.Addr{}, false
		}
		host = host[:i]
	}
	a, err := netip.ParseAddr(host)
	return a.Unmap(), err == nil
}

// isPort reports whether s is ":" and a port, or an obfuscated one (RFC 7239).
func isPort(s string) bool {
	if len(s) < 2 || len(s) > 32 || s[0] != ':' {
		return false
	}
	if s[1] == '_' {
		return isToken(s[1:])
	}
	for _, c := range []byte(s[1:]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) <= len(":65535")
}

// normalAddr is the address as all comparisons and keys need it: no zone, and
// never v4-mapped.
func normalAddr(a netip.Addr) netip.Addr {
	if a.Is4() { // and so it is
		return a
	}
	return a.Unmap().WithZone("")
}

// isToken reports whether s is a token of RFC 9110, such as a header name.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		alnum := '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !alnum && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// canonicalHeader is the name in the form X-Real-Ip, which frameworks find
// without rewriting it at every request.
func canonicalHeader(name string) string {
	b := []byte(name)
	first := true
	for i, c := range b {
		switch {
		case first && 'a' <= c && c <= 'z':
			b[i] = c - 0x20
		case !first && 'A' <= c && c <= 'Z':
			b[i] = c + 0x20
		}
		first = c == '-'
	}
	return string(b)
}
