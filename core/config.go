package core

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Config is what a Limiter is made of. Only Backend and Policies are required.
type Config struct {
	// Backend keeps the counters.
	Backend Backend
	// Policies are decided together, all or nothing: a request that one of them
	// refuses is charged to none.
	Policies []Policy

	// Fallback decides while Backend is down, for policies whose OnFailure is
	// Fallback. Nil is what Backend brings along: the one for Redis brings a
	// memory.New(). A backend that is no FallbackProvider has nothing to fall back
	// to, and those policies are FailClosed.
	Fallback Backend
	// Instances is how many processes count in Backend. While each of them has to
	// decide by itself, it admits that part of every rate, and 1 at least. 0 is 1.
	Instances int

	// Proxies are the prefixes of the reverse proxies whose forwarding fields are
	// believed. Without them the client is the TCP peer, whatever a request claims.
	Proxies []netip.Prefix
	// ProxyHeader names the one field in which these proxies put the client's
	// address, such as "X-Real-IP"; "" reads X-Forwarded-For or Forwarded.
	ProxyHeader string
	// Client replaces both: it answers the client's address itself.
	Client func(Native) netip.Addr
	// IPv4Prefix and IPv6Prefix are the bits of an address that make an identity;
	// 0 is 32 and 64.
	IPv4Prefix, IPv6Prefix int

	// AllowList exempts: what its prefixes and keys name is neither limited nor
	// counted. DenyList refuses with status 403 what its prefixes and keys name,
	// before anything is counted, unless the AllowList exempts it. Prefixes are
	// those of the client's address, whatever the policies count by. A key that is
	// exempt is exempt from the policies whose source makes it. Both can be changed
	// while the program runs; nil is an empty list for good.
	AllowList, DenyList *List
	// Forbidden answers what the DenyList refuses; nil is 403 with a problem document.
	Forbidden func(Request) Response

	// User answers who is authenticated, "" for nobody; for keys by user.
	User func(Request) string
	// Secret makes the names of cells in a store outside the process
	// unguessable. Without it they are pseudonyms that anyone can recompute.
	Secret []byte
	// Prefix begins the names of cells in such a store; "" is "rl:".
	Prefix string
	// Digest replaces the hash of keys in such a store.
	Digest func(key []byte) [16]byte
	// BodyLimit is how much of a body is read for keys in it; 0 is 64 KiB.
	BodyLimit int

	// Disallowed answers refused requests of all policies whose Hooks do not.
	Disallowed func(Request, Decision) Response
	// Headers says which header fields are sent; 0 is HeadersDraft10.
	Headers Headers
	// Jitter adds up to a tenth of the window, at random, to the waits that refused
	// clients are told in header fields, so that those who obey do not all come
	// back at once. Decision.RetryAfter stays exact.
	Jitter bool
	// KeepDecision has the adapters keep the Decision in the framework's context
	// for every request; otherwise they do so where a policy annotates.
	KeepDecision bool
	// ReturnErrors has the adapters of frameworks whose handlers return errors
	// (Echo, Fiber) return a *LimitedError where they would answer themselves, so
	// that the application's central error handler renders refusals too.
	ReturnErrors bool
	// Disabled admits everything and counts nothing: the switch for tests and
	// emergencies.
	Disabled bool
	// Observer is told what the Limiter does; nil costs nothing. See NewLogObserver.
	Observer Observer
	// Logger gets what went wrong, never a raw key; nil is slog.Default().
	Logger *slog.Logger

	// Now replaces the backend's clock by explicit instants, for tests and
	// replay.
	Now func() time.Time
	// Phase replaces the offset of staggered windows, in microseconds, so that a
	// replay is reproducible.
	Phase func(Cell) int64
}

// New makes a Limiter. It does no I/O. All that is wrong with a configuration is
// in its one error.
func New(c Config) (*Limiter, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("stint: "+format, args...)) }
	add := func(where string, err error) {
		for _, e := range complaintsIn(err) {
			bad("%s%s", where, e)
		}
	}

	l := &Limiter{config: c, backend: c.Backend, headers: c.Headers}
	if isNil(c.Backend) {
		bad("no backend: set Config.Backend, for example to memory.New()")
	} else {
		l.setSingle()
		l.setRefuser()
	}
	if c.Fallback != nil && isNil(c.Fallback) {
		bad("fallback: a nil %T; leave Fallback out for what the backend brings along", c.Fallback)
	}
	if c.Observer != nil && isNil(c.Observer) {
		bad("observer: a nil %T; leave Observer out", c.Observer)
	}
	if c.Instances < 0 {
		bad("%d instances: write how many processes share the backend, or 0 for 1", c.Instances)
	}
	if len(c.Policies) == 0 {
		bad("no policies: add at least one to Config.Policies")
	}
	if l.headers == 0 {
		l.headers = HeadersDraft10
	}
	if l.headers > HeadersDraft10|HeadersLegacy|HeadersNone {
		bad("headers %d: combine HeadersDraft10 and HeadersLegacy, or use HeadersNone", l.headers)
	}
	if l.headers&HeadersNone != 0 && l.headers != HeadersNone {
		bad("HeadersNone can not be combined with other header fields")
	}
	if c.BodyLimit < 0 {
		bad("body limit %d: write the number of bytes, or 0 for 64 KiB", c.BodyLimit)
	}
	naming, err := NewNaming(Naming{Prefix: c.Prefix, Secret: c.Secret, Digest: c.Digest})
	add("", err)
	l.env, err = newRequestEnv(&c)
	add("", err)
	names := map[string]bool{}
	for i := range c.Policies {
		p, err := newPolicy(&c, &c.Policies[i], naming)
		name := c.Policies[i].Name
		if name == "" {
			add(fmt.Sprintf("policy %d of %d: ", i+1, len(c.Policies)), err)
		} else {
			add(fmt.Sprintf("policy %q: ", name), err)
		}
		if names[name] {
			bad("policy %q: the name is used twice; policies of one name would share their counters", name)
		}
		names[name] = true
		if p.trial != nil {
			p.trial.group = int32(i + 1)
		}
		l.policies = append(l.policies, p)
		l.keep = l.keep || c.KeepDecision || c.Policies[i].Mode == Annotate || c.Policies[i].Reserve
	}
	for item, policy := range l.ambiguous() {
		bad("policy %q: its rate is called %q in the header fields, as another one is: rename the policy", policy, item)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	l.start()
	return l, nil
}

// ambiguous yields the names in the header fields that two policies share, as
// "api-1m" may be a policy and the rate per minute of "api".
func (l *Limiter) ambiguous() iter.Seq2[string, string] {
	return func(yield func(item, policy string) bool) {
		first := map[string]*policy{}
		for _, p := range l.policies {
			for _, q := range p.quotas {
				if q.ban {
					continue
				}
				if other := first[q.item]; other != nil && other.name != p.name && !yield(q.item, p.name) {
					return
				}
				first[q.item] = p
			}
		}
	}
}

// complaintsIn are the single complaints that err joins, without their prefix.
func complaintsIn(err error) (texts []string) {
	if err == nil {
		return nil
	}
	for line := range strings.Lines(err.Error()) {
		texts = append(texts, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "stint: "))
	}
	return texts
}

// newPolicy makes one policy ready. Its error is everything that is wrong with it.
func newPolicy(c *Config, in *Policy, naming *Naming) (*policy, error) {
	p := &policy{name: in.Name, rateFunc: in.RateFunc, missing: in.Missing, cost: in.Cost,
		soft: in.Mode != Enforce, failing: in.OnFailure, problem: appendProblem(in.Name)}
	if in.CountDenied {
		p.when = Always
	}
	return p, errors.Join(
		validName(in.Name),
		validMode(in.Mode),
		validFailureMode(in.OnFailure),
		p.setHooks(in.Hooks),
		p.setMethods(in),
		p.setKey(c, in),
		p.setBan(in, naming),
		p.setAfter(in),
		p.setRates(c, in, naming),
		p.setTrial(c, in, naming),
		p.setCost(),
	)
}

func validMode(m Mode) error {
	if m > Shadow {
		return fmt.Errorf("mode %d: use Enforce, Annotate or Shadow", m)
	}
	return nil
}

func validFailureMode(m FailureMode) error {
	if m > FailOpen {
		return fmt.Errorf("OnFailure %d: use Fallback, FailClosed or FailOpen", m)
	}
	return nil
}

func (p *policy) setHooks(h Hooks) error {
	if h == nil || h == Hooks(Base{}) {
		return nil
	}
	if isNil(h) {
		return fmt.Errorf("hooks: a nil %T; leave Hooks out for the defaults", h)
	}
	p.hooks = h
	p.coster, _ = h.(Coster)
	p.observer, _ = h.(DenialObserver)
	p.recorder, _ = h.(DenialRecorder)
	return p.missedAbility(h)
}

// missedAbility finds methods that a hook has on its pointer only, while its
// value was passed: they would never be called, and silently so.
func (p *policy) missedAbility(h Hooks) error {
	pointer := reflect.PointerTo(reflect.TypeOf(h))
	for ability, has := range map[reflect.Type]bool{
		reflect.TypeFor[Coster]():         p.coster != nil,
		reflect.TypeFor[DenialObserver](): p.observer != nil,
		reflect.TypeFor[DenialRecorder](): p.recorder != nil,
	} {
		if !has && pointer.Implements(ability) {
			return fmt.Errorf("hooks: only *%T is a %s: pass a pointer", h, ability.Name())
		}
	}
	return nil
}

func (p *policy) setMethods(in *Policy) error {
	if in.Methods != nil && len(in.Methods) == 0 {
		return errors.New("an empty list of Methods: the policy would never apply; leave it nil for all methods")
	}
	if slices.Contains(in.Except, "") {
		return errors.New("an empty template in Except: it would exempt all requests whose route is not known")
	}
	for _, m := range in.Methods {
		if m == "" || m != strings.ToUpper(m) || strings.ContainsAny(m, " \t,") {
			return fmt.Errorf("method %q: write methods in capitals, one per element, as in []string{\"POST\"} or core.Unsafe", m)
		}
	}
	p.methods, p.except = slices.Clone(in.Methods), slices.Clone(in.Except)
	if i := slices.Index(p.methods, "HEAD"); i >= 0 {
		p.methods[i] = "GET"
	}
	return nil
}

func (p *policy) setKey(c *Config, in *Policy) (err error) {
	key := in.Key
	switch {
	case key != nil && in.By != "":
		return errors.New("Key and By are both set: they say the same, keep one")
	case in.By != "":
		if key, err = ParseKey(in.By); err != nil {
			return err
		}
	case key == nil:
		key = ByIP
	}
	p.key = key.source()
	if in.Missing > MissingRefuse {
		return fmt.Errorf("%v: use MissingIP, MissingShare, MissingSkip or MissingRefuse", in.Missing)
	}
	if p.key.needsUser && c.User == nil {
		return fmt.Errorf("key %v: there are no users; set Config.User", key)
	}
	if p.key.err != nil {
		return fmt.Errorf("key %v: %w", key, p.key.err)
	}
	return nil
}

func (p *policy) setRates(c *Config, in *Policy, naming *Naming) (err error) {
	strategy := in.Strategy
	if strategy == nil {
		strategy = SlidingWindow{}
	} else if isNil(strategy) {
		return fmt.Errorf("strategy: a nil %T", strategy)
	}
	p.binder = &binder{policy: p, ban: p.ban, shadow: in.Mode == Shadow, strategy: strategy, naming: naming, phase: c.Phase, instances: int64(c.Instances)}
	rates, given := in.Rates, 0
	for _, set := range []bool{in.Rate != "", in.Rates != nil, in.RateFunc != nil} {
		if set {
			given++
		}
	}
	if given != 1 {
		return errors.New(`set exactly one of Rate, Rates and RateFunc, for example Rate: "100/m"`)
	}
	if in.RateFunc != nil {
		return nil
	}
	if in.Rate != "" {
		if rates, err = ParseRates(in.Rate); err != nil {
			return err
		}
	}
	p.quotas, err = p.binder.bind(rates)
	if err == nil && len(p.quotas) == 0 && p.ban != nil {
		return errors.New("Ban: a policy without a limit applies to nobody, and its ban neither: give it a rate")
	}
	return err
}

// setCost fills in the default and finds the fixed cost that no request could
// ever pay.
func (p *policy) setCost() error {
	if p.cost < 0 {
		return fmt.Errorf("cost %d: a cost is 0 (meaning 1) or more", p.cost)
	}
	if p.cost == 0 {
		p.cost = 1
	}
	for _, b := range p.quotas {
		if b.ban {
			continue
		}
		if p.cost > b.units && b.units > 0 && p.coster == nil {
			return fmt.Errorf("cost %d is above what rate %v admits at once (%d): no request could pass", p.cost, b.rate, b.units)
		}
	}
	return nil
}

func validName(s string) error {
	if s == "" {
		return errors.New(`no name: give each policy one, such as "login"`)
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return fmt.Errorf("character %q in the name: use letters, digits, - and _", r)
		}
	}
	if len(s) > 64 {
		return fmt.Errorf("a name of %d characters: 64 at most", len(s))
	}
	return nil
}

// isNil reports a nil of any kind behind an interface.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan, reflect.Interface:
		return r.IsNil()
	}
	return false
}
