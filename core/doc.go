// Package core decides how often something may happen: rate limiting for Go web
// applications, without a framework, a driver or net/http in it.
//
// One decision, from the door inwards. An adapter (adapters/gin, echo, fiber,
// http) hands a request, as a [Native], to a [Limiter], which goes through its
// policies: does the [Policy] apply by method and route, do its [Hooks] say so,
// which [Rate] holds for this request, and for which [Key], that is for which
// client, user or whatever else is counted. Each answer is an [Ask], and the
// [Backend] decides all asks of a request in one atomic step with one reading of
// one clock: all are charged, or none. How a cell counts is a [Strategy]'s
// business, integer arithmetic on a few words, the same on every backend. What
// comes back is a [Decision], which the adapter writes into the response's header
// fields before it calls the handler, or answers with what Hooks.Disallowed says.
//
// Being refused is a Decision. An error means that something broke. While the
// backend is down, [Policy].OnFailure decides; any other request that can not be
// decided is refused.
//
//	limiter, err := core.New(core.Config{
//		Backend: memory.New(),
//		Policies: []core.Policy{
//			{Name: "api", Rate: "100/m; 2000/d"},
//			{Name: "login", Rate: "5/15m", By: "ip+post:username", Methods: core.Unsafe},
//		},
//	})
//
// Instants and durations inside the arithmetic are microseconds; what users see
// is time.Duration. Everything exported here is safe for concurrent use unless
// it says otherwise.
package core
