package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"net/http"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/core"
)

// A caller is who sends a request: an account, or nobody in particular.
type caller struct {
	name  string // of the account; "" for nobody
	rates core.Rates
	err   error // it could not be found out
}

// anonymous is the plan of everybody without a key, by address.
var anonymous = core.Rates{{Limit: 3, Window: time.Minute}}

type callerKey struct{}

// callerOf is nil where identify was not asked.
func callerOf(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	return c
}

// An identifier finds out who calls, once per request, before the limiter asks.
type identifier struct {
	accounts *accounts
	lookups  *core.Limiter
}

func (a *identifier) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &caller{rates: anonymous}
		if key := r.Header.Get("X-Api-Key"); key != "" {
			c = a.caller(r, sha256.Sum256([]byte(key)))
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

// caller is whose key it is. An address that has had many keys looked up, as those
// do that guess keys, gets no more of that for a while, and the anonymous plan.
// Accounts that are known by now need no lookup.
func (a *identifier) caller(r *http.Request, key digest) *caller {
	if found, ok := a.accounts.cache.get(key); ok {
		return &caller{name: found.name, rates: found.rates}
	}
	if d, err := a.lookups.AllowRequest(httplimit.Request(r)); err != nil || !d.Allowed {
		return &caller{rates: anonymous, err: err}
	}
	found, err := a.accounts.find(r.Context(), key)
	if errors.Is(err, sql.ErrNoRows) {
		return &caller{rates: anonymous}
	}
	return &caller{name: found.name, rates: found.rates, err: err}
}

// region limiter

// ratesOf is the policy's RateFunc. Its error refuses the request with 503: who
// can not be identified must not get a plan by that, neither a better nor a worse
// one.
func ratesOf(_ string, r core.Request) (core.Rates, error) {
	if r == nil {
		return nil, errors.New("plans are of requests")
	}
	c := callerOf(r.Context())
	if c == nil {
		return nil, errors.New("identify is not in front of the limiter")
	}
	return c.rates, c.err
}

// accountOf is Config.User.
func accountOf(r core.Request) string {
	if c := callerOf(r.Context()); c != nil {
		return c.name
	}
	return ""
}

// endregion
