package core

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
)

// examineSettings looks at what concerns all policies.
func (l *Limiter) examineSettings() (found []Finding) {
	c := &l.config
	_, inside := l.backend.(SingleTaker)
	add := func(is bool, code, reason, remedy string) {
		if is {
			found = append(found, Finding{Code: code, Reason: reason, Remedy: remedy})
		}
	}
	add(c.Disabled, codeDisabled,
		"Config.Disabled is set: nothing is limited",
		"Leave it out, or set it only while something is wrong")
	add(c.Now != nil, codeClockReplaced,
		"Config.Now replaces the backend's clock, for tests and replay: processes whose clocks differ count in different windows, "+
			"and cells live longer than they need",
		"Leave it out in production")
	add(c.Phase != nil, codePhaseReplaced,
		"Config.Phase replaces the offset of windows, for replay: whoever knows it knows when each client's window ends",
		"Leave it out in production")
	for _, p := range c.Proxies {
		add(isWide(p), codeProxiesTooWide,
			fmt.Sprintf("Config.Proxies trusts %v, which holds public addresses by the million: any client among them can claim any address", p),
			"Name the prefixes of your own proxies, or those that your provider publishes")
	}
	add(l.env.cut.v6 > 64, codeIPv6TooNarrow,
		fmt.Sprintf("Config.IPv6Prefix is %d bits, and whoever has an IPv6 address has at least 64 bits of them: a fresh limit for each", l.env.cut.v6),
		"Leave it out, which is 64 bits")
	add(!inside && len(c.Secret) == 0 && c.Digest == nil && slices.ContainsFunc(l.policies, (*policy).isPersonal), codeNoSecret,
		"Config.Secret is empty while counters are in a store outside the process: whoever reads it finds addresses and names by trying them all",
		"Set a secret of at least 16 random bytes, the same in all processes")
	add(c.Digest != nil && c.Digest([]byte("a")) == c.Digest([]byte("b")), codeDigestConstant,
		"Config.Digest answers the same for different keys: all clients share one counter",
		"Make it a hash of all of its argument, or leave it out")
	add(inside && c.Instances > 1, codeInstances,
		fmt.Sprintf("Config.Instances is %d, but the backend counts in this process alone: together the processes admit %d times the limits", c.Instances, c.Instances),
		"Use a backend that the processes share, such as Redis, or divide the rates and leave Instances out")
	add(!inside && l.fallback() == nil && slices.ContainsFunc(l.policies, (*policy).fallsBack), codeNoFallback,
		"policies fall back while the backend is down, and there is nothing to fall back to: they refuse all requests then",
		"Set Config.Fallback, for example to memory.New(), or say FailClosed where it is meant")
	add(!inside && sameBackend(c.Fallback, l.backend), codeFallbackIsBackend,
		"Config.Fallback is Config.Backend: when the one is down, so is the other",
		"Set it to memory.New(), or leave it out for what the backend brings along")
	add(l.exemptsEverybody(), codeEverybodyExempt,
		"Config.AllowList exempts addresses from all over the Internet: hardly anybody is limited",
		"Name in it who really is to be exempt")
	return found
}

// privateSpace are the private parts of the address space, and what is local.
var privateSpace = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("::1/128"),
}

// isWide reports whether a prefix of proxies holds far more public addresses than
// anybody has proxies. The widest that large content networks publish are of 11 and
// 29 bits.
func isWide(p netip.Prefix) bool {
	p, err := proxyPrefix(p)
	if err != nil {
		return false
	}
	for _, private := range privateSpace {
		if private.Bits() <= p.Bits() && private.Contains(p.Addr()) {
			return false
		}
	}
	if p.Addr().Is4() {
		return p.Bits() < 10
	}
	return p.Bits() < 20
}

// isPrivate reports whether a normal address is none of the public Internet.
func isPrivate(a netip.Addr) bool {
	return slices.ContainsFunc(privateSpace, func(p netip.Prefix) bool { return p.Contains(a) })
}

// far are addresses that no prefix of sensible length has in common.
var far = []netip.Addr{netip.MustParseAddr("1.0.0.1"), netip.MustParseAddr("90.0.0.1"), netip.MustParseAddr("200.0.0.1")}

func (l *Limiter) exemptsEverybody() bool {
	list := l.config.AllowList
	return list != nil && !slices.ContainsFunc(far, func(a netip.Addr) bool { return !list.Contains(a) })
}

// sameBackend compares backends, of which not all types can be compared.
func sameBackend(a, b Backend) bool {
	if a == nil || b == nil || !reflect.TypeOf(a).Comparable() {
		return false
	}
	return a == b
}
