// Package guard is a hook struct as an application has it: the examples for all
// frameworks share it, because a hook knows none of them.
package guard

import (
	"log/slog"

	"github.com/stint-go/stint/core"
)

// region guard

// A LoginGuard limits POSTs by client and by the user name that they try.
type LoginGuard struct {
	core.Base
	Field string       // of the form: the user name
	Audit *slog.Logger // gets one row per refusal, none per request
}

// ShouldLimit leaves alone what only shows the form.
func (g LoginGuard) ShouldLimit(r core.Request) bool {
	return r.Method() == "POST" && g.Base.ShouldLimit(r)
}

// KeyExtra adds the user name to what the policy counts by, the client's address:
// in one spelling, or each way to write a name would have a count of its own.
func (g LoginGuard) KeyExtra(r core.Request, key core.Key) core.Key {
	return g.Base.KeyExtra(r, key).With(g.Field, core.FoldText(r.Form(g.Field)))
}

// Disallowed answers as usual, after a note. The note has no user name: people
// type passwords into the wrong field.
func (g LoginGuard) Disallowed(r core.Request, d core.Decision) core.Response {
	g.Audit.Warn("login refused", "ip", r.IP(), "policy", d.Policy, "retry_after", d.RetryAfter)
	return g.Base.Disallowed(r, d)
}

// endregion
