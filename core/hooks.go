package core

// Hooks customise a policy. Embed Base by value and override what you need; call
// the embedded method where a subclass would call super:
//
//	type LoginGuard struct{ core.Base }
//
//	func (g LoginGuard) ShouldLimit(r core.Request) bool {
//		return r.Method() == "POST" && g.Base.ShouldLimit(r)
//	}
//
// The three methods are those of the class that this library descends from
// (ratelimitcache, 2009: should_ratelimit, key_extra, disallowed). Only the
// Limiter calls them, outside of any lock. They must be safe for concurrent use.
// A hook that panics refuses its request with status 500. The Request is valid
// until the hook returns.
type Hooks interface {
	// ShouldLimit reports whether the policy applies to the request at all.
	ShouldLimit(r Request) bool
	// KeyExtra answers the key to count, given the key that the policy's own
	// source made: key.With(...) narrows it, another key replaces it.
	KeyExtra(r Request, key Key) Key
	// Disallowed answers a request that the policy refused. It is called once
	// per refused request, for the policy with the longest wait.
	Disallowed(r Request, d Decision) Response
}

// A Coster is a Hooks that knows what a request costs, in units. Cost 0 is a
// look that charges nothing; a negative cost is an error.
type Coster interface{ Cost(r Request) int64 }

// A DenialObserver is a Hooks that is told of every request that its policy
// refused, also when another policy renders the answer or when the policy only
// annotates. It is called after the decision and before the response.
type DenialObserver interface{ Denied(r Request, d Decision) }

// Base is the default behaviour: always limit, count what the policy says,
// answer 429 with a problem document. The zero value is ready to use. Its
// methods never call one another: the sequence is the Limiter's, which holds the
// outer value.
type Base struct{}

var _ Hooks = Base{}

// ShouldLimit answers true.
func (Base) ShouldLimit(Request) bool { return true }

// KeyExtra answers the policy's own key.
func (Base) KeyExtra(_ Request, key Key) Key { return key }

// Disallowed answers what Config.Disallowed says for all policies, otherwise
// Refusal.
func (Base) Disallowed(r Request, d Decision) Response {
	if f := d.disallowed; f != nil {
		d.disallowed = nil // so that f may call Base.Disallowed itself
		return f(r, d)
	}
	return Refusal(d)
}

// A Response is what the client of a refused request gets, besides the header
// fields of the Decision. The zero value is an empty 429.
type Response struct {
	Status      int    // 0 is 429
	ContentType string // "" sends none
	// Header are further fields, an http.Header in all but name; nil for none.
	Header map[string][]string
	Body   []byte // sent as it is
	// Written tells the adapter that the hook has answered through the
	// framework's own context, status and body included.
	Written bool
}
