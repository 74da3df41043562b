package main

import (
	"strings"
	"time"

	"github.com/stint-go/stint/core"
)

// region audit

// An Audit has one row written per denial. It knows no framework, and the same
// value serves any number of policies.
type Audit struct {
	core.Base
	Log    *Log
	Naming *core.Naming // with the secret that hides identities
	Now    func() time.Time
}

var _ core.DenialRecorder = Audit{}

// RecordDenial runs within the refused request: it makes a digest, puts the row
// into a queue, and waits for nothing.
func (a Audit) RecordDenial(r core.Request, e core.Entry, key core.Key) {
	a.Log.Add(Denial{
		At:       a.Now(),
		Policy:   e.Policy,
		Rate:     e.Rate.String(),
		Identity: a.Naming.DigestOf(&key).String(),
		Route:    strings.Clone(r.Route()), // Fiber uses the memory of a request again
		Consumed: e.Limit - e.Remaining,
	})
}

// endregion

// A Denial is one row.
type Denial struct {
	At       time.Time
	Policy   string
	Rate     string // the one that refused, such as "5/15m"
	Identity string // a digest of what the policy counts by
	Route    string // the template; "" where none matched
	Consumed int64  // units, when it was refused
}
