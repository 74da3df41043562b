package core

import "slices"

// A Policy is one named rule: how much, of what, counted by whom. The zero value
// of every field but Name and the rate is a sensible default.
type Policy struct {
	// Name is part of every cell of the policy and of the header fields: 1 to 64
	// letters, digits, "-" and "_". Two policies of one Limiter never share it;
	// policies of the same name on the same backend share their counters.
	Name string

	// Rate is how much: "100/5m", "10/s; 1000/d", "none" (see ParseRates). Exactly
	// one of Rate, Rates and RateFunc is set.
	Rate string
	// Rates is the same, parsed.
	Rates Rates
	// RateFunc answers the rates for a request.
	RateFunc RateFunc
	// Strategy counts; nil is SlidingWindow{}, staggered.
	Strategy Strategy

	// Key is who is counted; nil is ByIP. By is the same as text (see ParseKey);
	// at most one of the two is set.
	Key KeySource
	By  string
	// Missing says what happens to a request without a value for its key.
	Missing Missing
	// Hooks customises the policy; nil is Base{}.
	Hooks Hooks

	// Cost is what a request costs, in units; 0 is 1. Hooks that are a Coster
	// decide per request instead.
	Cost int64
	// Mode says what a refusal means: Enforce (the zero value), Annotate or Shadow.
	Mode Mode
	// OnFailure says what becomes of requests while the backend is down: Fallback
	// (the zero value), FailClosed or FailOpen.
	OnFailure FailureMode
	// CountDenied charges refused requests too, as django-ratelimit does. A key
	// then waits until it has been quiet for a while, but never longer than one
	// that was full at its last request.
	CountDenied bool
	// Reserve charges the cost as an estimate: the handler finds a Reservation in
	// the framework's context and settles what the request really cost. It settles
	// the same cost with all policies that reserve, so let those do that count the
	// same units.
	Reserve bool
	// CountIf gives the charge back after the response, unless it answers true for
	// its status: only failed logins count with OnStatus(401). The request is
	// charged before the handler all the same, so that a burst of them can not slip
	// through. A client that hangs up gets nothing back. The Request still is that
	// of the response; its body may have been read.
	CountIf func(r Request, status int) bool
	// ResetIf forgets after the response what the identity has consumed under this
	// policy, its ban included, where it answers true: as after a login. A client
	// that hangs up is forgiven nothing. The key must name who has logged in: under
	// one of the address alone, whoever has an account forgets his guesses at all
	// others by logging in now and then. See Limiter.Reset.
	ResetIf func(r Request, status int) bool
	// Candidate is tried beside the policy's own rates, without a say; nil is none.
	Candidate *Candidate
	// Ban refuses who was refused too often, for a while; nil bans nobody. Such a
	// policy enforces, and bans nobody for whom it has no limit ("none").
	Ban *Ban
	// Methods the policy applies to; nil is all. HEAD counts as GET. A list such
	// as {"POST"} leaves every other method alone, also those that a client makes
	// up and that a handler may serve all the same: Unsafe does not.
	Methods []string
	// Except are route templates that the policy leaves alone, such as
	// "/healthz". It needs a middleware that knows the route: not before routing,
	// and in Fiber on the route itself.
	Except []string
}

// A RateFunc answers the rates that apply to a request under the policy of that
// name: Rates{} for no limit, Rates{{}} to refuse, an error when it can not tell
// (the request is then refused with status 503, and the error's text logged: keep
// the client's out of it). Nil Rates, as a look-up in a map gives them by
// mistake, are an error too. r is nil where the Limiter is asked outside of a
// request. It must be safe for concurrent use.
type RateFunc func(policy string, r Request) (Rates, error)

// Unsafe, for Policy.Methods, are all methods but the safe ones of RFC 9110: GET,
// HEAD, OPTIONS and TRACE.
var Unsafe = []string{unsafeMethods}

const unsafeMethods = "UNSAFE"

// Mode says what becomes of a request that a policy refuses.
type Mode uint8

const (
	// Enforce answers the request with Hooks.Disallowed.
	Enforce Mode = iota
	// Annotate lets it pass: the handler finds Decision.Limited set and decides
	// itself (django-ratelimit's block=False). It neither refuses a request nor
	// keeps other policies from refusing it.
	Annotate
	// Shadow lets it pass and shows nothing of the policy: neither Decision nor
	// header fields know it. What it would refuse is counted (see Limiter.Trial).
	Shadow
)

// policy is a Policy made ready by New.
type policy struct {
	name     string
	quotas   []*quota // fixed rates
	binder   *binder  // rates by function
	rateFunc RateFunc
	key      *source
	missing  Missing
	hooks    Hooks // nil where there is nothing to call: Base costs nothing then
	coster   Coster
	observer DenialObserver
	recorder DenialRecorder
	cost     int64
	when     When
	soft     bool
	failing  FailureMode
	ban      *quota // nil without one
	trial    *trial // nil without one
	after    after
	outage   outage
	methods  []string
	except   []string
	problem  []byte
}

// quota is one rate of one policy, ready to be asked.
type quota struct {
	policy     *policy
	rate       Rate
	rule       Rule
	ban        bool // of strikes, not of units
	shadow     bool // asked, and no part of the decision
	local      Rule // what the fallback applies to the same cells, or nil
	space      *Space
	units      int64  // the most at once
	item       string // the name in the header fields
	field      string // its item in RateLimit-Policy
	fieldBytes []byte // the same
	left       string // its item in RateLimit, up to what remains
}

// applies reports whether method and route concern the policy.
func (p *policy) applies(n Native) bool {
	if p.methods != nil {
		m := n.Method()
		if m == "HEAD" {
			m = "GET"
		}
		if !slices.Contains(p.methods, m) && (isSafe(m) || !slices.Contains(p.methods, unsafeMethods)) {
			return false
		}
	}
	return p.except == nil || !slices.Contains(p.except, n.Route())
}

func isSafe(method string) bool {
	return method == "GET" || method == "OPTIONS" || method == "TRACE"
}

// disallowed answers for the policy that renders a refusal.
func (p *policy) disallowed(r Request, d Decision) Response {
	switch {
	case p.hooks != nil:
		return p.hooks.Disallowed(r, d)
	case d.disallowed != nil:
		return Base{}.Disallowed(r, d)
	}
	return d.refusal() // adapters send it as it is
}
