package policyfile

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/stint-go/stint/core"
)

// values are the words of conditions that take a name behind a colon.
var values = map[string]func(r core.Request, name string) string{
	"header": func(r core.Request, name string) string { return r.Header(name) },
	"get":    func(r core.Request, name string) string { return r.Query(name) },
	"post":   func(r core.Request, name string) string { return r.Form(name) },
	"json":   func(r core.Request, name string) string { return r.JSON(name) },
}

// newCondition reads one line of an override's match.
func newCondition(word, want string) (condition, error) {
	if want == "" {
		return nil, fmt.Errorf("%s: an empty value would match all that lack one", word)
	}
	kind, name, named := strings.Cut(word, ":")
	switch get := values[kind]; {
	case word == "ip":
		p, err := ParseNetwork(want)
		return inNetwork(p), err
	case word == "user":
		return func(r core.Request) bool { return r.User() == want }, nil
	case word == "route":
		return func(r core.Request) bool { return r.Route() == want }, nil
	case get != nil && named && name != "":
		return func(r core.Request) bool { return get(r, name) == want }, nil
	}
	return nil, fmt.Errorf("unknown condition %q: write ip, user, route, header:NAME, get:NAME, post:NAME or json:NAME", word)
}

// ParseNetwork reads a network, or an address as the network of one: what a file
// has for proxies and for ip.
func ParseNetwork(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		if p.Addr().Is4In6() {
			return p, fmt.Errorf("%q is an IPv4 network in IPv6 notation: write it as IPv4", text)
		}
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("%q is no address or network: write for example 203.0.113.7 or 203.0.113.0/24", text)
	}
	a = a.Unmap()
	return netip.PrefixFrom(a, a.BitLen()), nil
}
