package core

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// sampleSize is how many requests a Limiter looks at. What holds for all of them
// is how it is; fewer may be a monitor's that came before everybody else.
const sampleSize = 1000

// fewPeers is the most proxies of which a Limiter thinks that they are proxies.
const fewPeers = 4

// A watch looks at the first requests of a Limiter for what only requests can
// show. Limiter.watching tells whether it still does: a request costs nothing more
// when it does not.
type watch struct {
	made    time.Time
	proxies clientIP // the named ones

	mu        sync.Mutex
	found     []Finding
	requests  int
	forwarded int          // requests that say they were forwarded
	proxied   int          // requests from a named proxy
	told      int          // and with a field that says for whom
	peers     []netip.Addr // private ones, a few
	various   bool         // there were public ones, or many
	route     string       // of the first request
	routes    bool         // there were others
	policies  []policyWatch
}

// policyWatch is what is seen of one policy.
type policyWatch struct {
	applied   int // by method and route
	asked     int // with a key
	lacking   int // of which a value was missing
	anonymous int // and of which nobody was the user
}

func (w *watch) start(c *Config) {
	w.made = time.Now()
	w.policies = make([]policyWatch, len(c.Policies))
	for _, p := range c.Proxies {
		if p, err := proxyPrefix(p); err == nil {
			w.proxies.proxies = append(w.proxies.proxies, p)
		}
	}
}

// findings are those so far.
func (w *watch) findings() []Finding {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.found)
}

// look looks at a request that enters, and logs what is new.
func (l *Limiter) look(n Native, v *Visit) { l.warn(l.lookClosely(n, v)) }

func (l *Limiter) warn(fresh []Finding) {
	for _, f := range fresh {
		l.complain.to().Warn("misconfigured", "code", f.Code, "policy", f.Policy, "reason", f.Reason, "remedy", f.Remedy)
	}
}

// lookClosely answers what was not known before.
func (l *Limiter) lookClosely(n Native, v *Visit) (fresh []Finding) {
	w := &l.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.found)
	if w.requests++; w.requests <= 2 {
		w.add(births.seen(l, w.requests), Finding{Code: codeMadePerRequest,
			Reason: "one Limiter after the other has met a single request, just after it was made: one is made for every request, and none ever counts to two",
			Remedy: "Make it once, when the program starts"})
	}
	l.lookAtAddress(n)
	l.lookAtRoute(n)
	l.lookAtOthers(n, v)
	if w.requests == sampleSize {
		l.watching.Store(false)
		l.sumUp()
	}
	return w.found[before:]
}

// add adds a finding once.
func (w *watch) add(is bool, f Finding) {
	if is && !slices.ContainsFunc(w.found, func(g Finding) bool { return g.Code == f.Code && g.Policy == f.Policy }) {
		w.found = append(w.found, f)
	}
}

// forwardingFields are what proxies say their clients' addresses in.
var forwardingFields = []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip"}

// lookAtAddress looks at who is at the other end, and for whom it says it is.
func (l *Limiter) lookAtAddress(n Native) {
	w, peer := &l.watch, normalAddr(n.Peer())
	switch {
	case l.config.Client != nil || !peer.IsValid():
		w.various = true
		return
	case len(w.proxies.proxies) > 0:
		if w.proxies.isProxy(peer) {
			l.lookAtProxy(n)
		}
		return
	}
	field, private := forwardingField(n), isPrivate(peer)
	if field != "" {
		w.forwarded++
	}
	switch {
	case slices.Contains(w.peers, peer):
	case private && len(w.peers) < fewPeers:
		w.peers = append(w.peers, peer)
	default:
		w.various = true
	}
	if private && field != "" && l.countsAddresses() {
		w.add(true, proxyNotNamed(field))
	}
}

func proxyNotNamed(field string) Finding {
	return Finding{Code: codeProxyNotNamed,
		Reason: "requests come with " + field + ", and no proxy is named: if there is one, all clients behind it are counted as one",
		Remedy: "Name its addresses in Config.Proxies; without one, leave this field to itself, which nobody believes"}
}

func forwardingField(n Native) string {
	for _, name := range forwardingFields {
		if n.Header(name) != "" {
			return name
		}
	}
	return ""
}

// lookAtProxy looks at what a named proxy says.
func (l *Limiter) lookAtProxy(n Native) {
	w, header := &l.watch, canonicalHeader(l.config.ProxyHeader)
	w.proxied++
	lines := 0
	if header == "" {
		lines = len(n.HeaderValues("X-Forwarded-For")) + len(n.HeaderValues("Forwarded"))
	} else {
		lines = len(n.HeaderValues(header))
	}
	if lines > 0 {
		w.told++
	}
	if lines > 1 && header != "" && header != "X-Forwarded-For" && header != "Forwarded" {
		w.add(true, Finding{Code: codeProxyHeaderRepeated,
			Reason: "a named proxy sent more than one " + header + ": it hands on what the client has sent, and such a client is counted as the proxy",
			Remedy: "Have the proxy replace the field (nginx: proxy_set_header " + header + " $remote_addr)"})
	}
}

// lookAtRoute looks at where the Limiter is mounted.
func (l *Limiter) lookAtRoute(n Native) {
	w, route := &l.watch, n.Route()
	if w.requests == 1 {
		w.route = strings.Clone(route)
	}
	w.routes = w.routes || route != w.route
	for i, p := range l.policies {
		if p.applies(n) {
			w.policies[i].applied++
		}
	}
}

// lookAtKeys looks at the keys of a request that is being decided.
func (l *Limiter) lookAtKeys(c *call) {
	w := &l.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, p := range l.policies {
		for k, q := range c.quotas {
			if q.policy == p && !q.shadow {
				w.policies[i].look(c, p, &c.asks[k].Cell.Key)
				break
			}
		}
	}
}

func (w *policyWatch) look(c *call, p *policy, k *Key) {
	w.asked++
	if p.key.isAbsentIn(k) {
		w.lacking++
	}
	if p.key.needsUser && c.req.hasUser && c.req.name == "" {
		w.anonymous++
	}
}

// isAbsentIn reports whether a value that s asks for is stood in for in the key.
func (s *source) isAbsentIn(k *Key) bool {
	switch s.op {
	case opJoin, opEach:
		return slices.ContainsFunc(s.subs, func(sub *source) bool { return sub.isAbsentIn(k) })
	}
	return k.kind == KindMissing && k.name == s.text || strings.Contains(k.head, s.absent)
}

// sumUp says what held for all requests of the sample.
func (l *Limiter) sumUp() {
	w := &l.watch
	most := sampleSize * 9 / 10
	byAddress := l.countsAddresses()
	named := len(l.config.Proxies) > 0
	w.add(byAddress && !named && w.forwarded >= most, proxyNotNamed("a field such as X-Forwarded-For"))
	w.add(byAddress && !named && w.forwarded < most && !w.various, Finding{Code: codeFewPrivatePeers,
		Reason: fmt.Sprintf("the first %d requests came from %d private addresses: if these are proxies, all clients behind them are counted as one", sampleSize, len(w.peers)),
		Remedy: "Name them in Config.Proxies, and have them send X-Forwarded-For; for a service of that few clients all is well"})
	w.add(byAddress && named && w.proxied == 0, Finding{Code: codeProxiesNeverMet,
		Reason: fmt.Sprintf("none of the first %d requests came from a proxy in Config.Proxies, so that no forwarding field was believed", sampleSize),
		Remedy: "Correct the prefixes: they are those of the addresses that connect to this program"})
	w.add(byAddress && w.proxied > sampleSize/10 && w.told == 0, Finding{Code: codeProxyHeaderMissing,
		Reason: "the named proxies do not send " + l.proxyFields() + ": all clients behind them are counted as one",
		Remedy: "Have the proxies send it, or set Config.ProxyHeader to the field that they do send"})
	for i, p := range l.policies {
		l.sumUpPolicy(p, &w.policies[i])
	}
}

func (l *Limiter) sumUpPolicy(p *policy, seen *policyWatch) {
	w := &l.watch
	add := func(is bool, code, reason, remedy string) {
		w.add(is, Finding{Code: code, Policy: p.name, Reason: reason, Remedy: remedy})
	}
	lost := w.route == "" && !w.routes
	byRoute := len(p.except) > 0 || p.key.contains(func(s *source) bool { return s.op == opRoute })
	add(lost && byRoute, codeRouteUnknown,
		"it looks at the route, and no route was known in any request: all share one cell, and Except exempts none",
		"Mount the middleware on routes: in Fiber not by app.Use or on a group, with net/http not around the mux")
	add(!lost && !w.routes && seen.applied == 0, codeNeverApplies,
		fmt.Sprintf("it does not apply to the one route that its Limiter is mounted on, %s: its Methods or Except leave out all of the first %d requests", w.route, sampleSize),
		"Correct Methods or Except, or mount another Limiter there")
	nobody := seen.asked >= sampleSize/2 && seen.anonymous == seen.asked
	add(nobody, codeUserNeverKnown,
		fmt.Sprintf("it counts by user, and Config.User never answered one in %d requests", seen.asked),
		"Mount the middleware after authentication, and look at Config.User")
	add(!nobody && seen.asked >= sampleSize/10 && seen.lacking > seen.asked*9/10, codeValueMostlyMissing,
		fmt.Sprintf("%d of %d requests had no value for its key %v: they were counted otherwise, as Missing says (%v)", seen.lacking, seen.asked, p.key, p.missing),
		"Look at the spelling of the name, and at the methods and routes that the policy is for")
}

// countsAddresses reports whether it matters who the client is.
func (l *Limiter) countsAddresses() bool {
	return l.listing() || slices.ContainsFunc(l.policies, func(p *policy) bool {
		return p.key.contains(func(s *source) bool { return s.op == opIP || s.op == opValue && p.missing == MissingIP })
	})
}

func (l *Limiter) proxyFields() string {
	if l.config.ProxyHeader == "" {
		return "X-Forwarded-For or Forwarded"
	}
	return canonicalHeader(l.config.ProxyHeader)
}

// meetAgain notes that a request came by twice.
func (l *Limiter) meetAgain() { l.warn(l.metTwice()) }

func (l *Limiter) metTwice() (fresh []Finding) {
	w := &l.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.found)
	w.add(true, Finding{Code: codeMountedTwice,
		Reason: "one request met this Limiter twice, as it is mounted on a group and on a route in it: it decided once, where it came first",
		Remedy: "Mount it in one place; for limits of its own, a route needs a Limiter of its own"})
	return w.found[before:]
}
