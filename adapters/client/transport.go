// Package clientlimit limits the requests that a program sends: an
// http.RoundTripper that waits for its turn under a rate of its own, and obeys
// what servers ask of their clients.
//
//	client := &http.Client{Transport: &clientlimit.Transport{Waiter: waiter}}
package clientlimit

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/stint-go/stint/core"
)

// A Transport is an http.RoundTripper that delays requests and never refuses one
// for being early. A request whose context ends before its time has come fails at
// once, with an error that is the context's; nothing of it has been sent then.
//
// It obeys Retry-After in responses of status 429 and 503, and otherwise the
// RateLimit field (draft-ietf-httpapi-ratelimit-headers-10) of a server that has
// nothing left (r=0): later requests of the same key wait for as long as they say.
// It does not repeat a request that was refused: whether that is right, only the
// caller knows. Malformed fields, and those of responses from a cache, are ignored.
//
// The zero Transport obeys servers and has no rate of its own. It is safe for
// concurrent use; its fields must not be changed once it is in use.
type Transport struct {
	// Base sends the requests; nil is http.DefaultTransport.
	Base http.RoundTripper
	// Waiter is the rate to keep to, in all processes that share its backend. Nil
	// is none. See core.Limiter.Waiter.
	Waiter *core.Waiter
	// Key tells requests apart, for the Waiter and for what servers say; nil is by
	// host and port. Different keys of one host do not know of each other.
	Key func(*http.Request) core.Key
	// MaxWait bounds how long a server can make clients wait; 0 is an hour.
	MaxWait time.Duration

	pauses pauses
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	key := t.key(r)
	if err := t.wait(r.Context(), key); err != nil {
		if r.Body != nil {
			r.Body.Close() // as a RoundTripper must
		}
		return nil, err
	}
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	resp, err := base.RoundTrip(r)
	if err == nil {
		if pause := asked(resp, time.Now()); pause > 0 {
			t.pauses.set(key, min(pause, t.maxWait()))
		}
	}
	return resp, err
}

// wait returns when both the server and the rate let the request go. A turn that
// comes while the server has asked to wait has passed: whoever went with it when the
// pause is over would go together with all the others.
func (t *Transport) wait(ctx context.Context, key core.Key) error {
	for {
		if err := t.pauses.wait(ctx, key); err != nil {
			return err
		}
		if t.Waiter == nil {
			return nil
		}
		if err := t.Waiter.Wait(ctx, key, 1); err != nil {
			return err
		}
		if t.pauses.left(key) == 0 {
			return nil
		}
	}
}

func (t *Transport) key(r *http.Request) core.Key {
	if t.Key != nil {
		return t.Key(r)
	}
	return core.NewKey("host", r.URL.Host)
}

func (t *Transport) maxWait() time.Duration {
	if t.MaxWait == 0 {
		return time.Hour
	}
	return t.MaxWait
}

// tooLate is the error of a request whose time comes after its context's.
func tooLate(wait time.Duration) error {
	return fmt.Errorf("clientlimit: the server asked to wait another %v: %w", wait.Round(time.Millisecond), context.DeadlineExceeded)
}
