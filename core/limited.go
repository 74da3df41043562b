package core

// A LimitedError is a refused request as an error, for the central error handler
// of an application: errors.As finds it there. The header fields of the Decision
// are already written, and Response is what would have been answered otherwise:
// its status is 429, 403 for the deny list, or that of a request that could not be
// decided. Only where that was the backend's fault is there a Decision then, which
// is Degraded.
type LimitedError struct {
	Decision Decision
	Response Response
}

// Error names the policy, and nothing that the client has sent.
func (e *LimitedError) Error() string {
	switch {
	case e.Decision.Denied:
		return "stint: request refused by the deny list"
	case e.Decision.Policy == "":
		return "stint: request refused: it could not be decided"
	case e.Decision.closed:
		return "stint: request refused: it could not be decided: " + e.Decision.Cause.String()
	}
	return "stint: request refused by policy " + e.Decision.Policy
}

// A DecisionWriter is a Native that writes the header fields of a refusal into
// the response to come. The Limiter has it do so before it calls
// Hooks.Disallowed, which may send that response itself. Where the request
// passes, that is the adapter's to do.
type DecisionWriter interface{ WriteDecision(d Decision) }

// Err is a refusal as an error, for an adapter to return instead of answering;
// nil where Config.ReturnErrors is not set, the request passes, or a hook has
// answered it.
func (v *Visit) Err() *LimitedError {
	if v.limiter == nil || v.Pass || v.Response.Written || !v.limiter.config.ReturnErrors {
		return nil
	}
	return &LimitedError{v.Decision, v.Response}
}
