package main

import (
	"errors"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// limits are those of the application, whichever framework serves it.
type limits struct{ everyone, login *core.Limiter }

// newLimits has every denial recorded by the one hook.
func newLimits(a Audit) (l limits, err error) {
	backend := memory.New()
	limiter := func(p core.Policy) *core.Limiter {
		p.Hooks = a
		made, wrong := core.New(core.Config{Backend: backend, Policies: []core.Policy{p}, Now: a.Now})
		err = errors.Join(err, wrong)
		return made
	}
	l.everyone = limiter(core.Policy{Name: "everyone", Rate: "60/m"})
	l.login = limiter(core.Policy{Name: "login", Rate: "5/15m", By: "ip+fold(post:username)"})
	return l, err
}
