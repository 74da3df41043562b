package policyfile

import (
	"net/netip"

	"github.com/stint-go/stint/core"
)

// A File is what a policy file says. Parse makes it; what New of core would
// refuse is not in it.
type File struct {
	// Proxies, ProxyHeader, IPv4Prefix, IPv6Prefix, Prefix, Headers, Jitter and
	// Instances are the fields of core.Config of these names.
	Proxies                []netip.Prefix
	ProxyHeader            string
	IPv4Prefix, IPv6Prefix int
	Prefix                 string
	Headers                core.Headers
	Jitter                 bool
	Instances              int
	// Policies in the order of the file.
	Policies []Policy
}

// A Policy is one policy of a file.
type Policy struct {
	// Policy is the policy without its overrides. Its Rates are parsed and its
	// Key is set where the file says one.
	core.Policy
	// Line is where it begins.
	Line int
	// Fresh has every change of the policy begin with empty counters and no bans
	// (on_change: reset). Otherwise a change of limit or burst keeps what is
	// consumed; a new window, precision, alignment or strategy always starts
	// empty.
	Fresh bool
	// Overrides are other rates for some, for a time; the first that holds counts.
	Overrides []Override

	generation string // part of every key of a Fresh policy
	definition string // the policy as it is written, overrides and all, as a digest
}

// Policy is the policy of that name.
func (f *File) Policy(name string) (p Policy, ok bool) {
	for _, p := range f.Policies {
		if p.Name == name {
			return p, true
		}
	}
	return p, false
}

// Key is a key as the policy counts it: for Limiter.Allow, Peek, Reset, Ban and
// Unban, which take a key as it is. It differs from the given one where on_change is reset.
func (f *File) Key(policy string, key core.Key) core.Key {
	if p, ok := f.Policy(policy); ok && p.generation != "" {
		return core.JoinKeys(key, core.KeyOf(core.KindConst, "", p.generation))
	}
	return key
}

// Config is base with what the file says in place of its own fields. Hooks are by
// the policies' names: code does not belong in a file. Overrides begin and end by
// base.Now, or by the system's clock where it is nil.
func (f *File) Config(base core.Config, hooks map[string]core.Hooks) core.Config {
	base.Proxies, base.ProxyHeader = f.Proxies, f.ProxyHeader
	base.IPv4Prefix, base.IPv6Prefix = f.IPv4Prefix, f.IPv6Prefix
	base.Prefix, base.Headers, base.Jitter = f.Prefix, f.Headers, f.Jitter
	base.Instances = f.Instances
	base.Policies = make([]core.Policy, len(f.Policies))
	for i, p := range f.Policies {
		base.Policies[i] = p.ready(base.Now)
		if h := hooks[p.Name]; h != nil {
			base.Policies[i].Hooks = h
		}
	}
	return base
}
