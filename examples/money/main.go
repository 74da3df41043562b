// Limits of money, of messages and of an API key, on net/http. README.md beside
// it says what to try.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on")
	flag.Parse()
	app, err := newApp(nil)
	if err == nil {
		fmt.Println("starting on http://" + *addr)
		err = http.ListenAndServe(*addr, app)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// region policies

// money is at most 2,000.00 in any 24 hours: the costs are cents, and this
// strategy admits no more than its limit in any window, wherever it begins. What
// was spent can be spent again a day and at most an hour later.
var money = core.Policy{
	Name: "money", Rate: "200000/d@1h", Strategy: core.BucketedWindow{}, By: "user", Hooks: cents{},
}

// sms is small enough for the exact log of a moving window.
var sms = core.Policy{Name: "sms", Rate: "10/d", Strategy: core.MovingWindow{}, By: "user"}

// api is what a key has bought. The three hold together: a request that one of
// them refuses uses up none of the others.
var api = []core.Policy{
	// As the price list says it: a thousand a day, from midnight to midnight, UTC.
	{Name: "day", Rate: "1000/d", Strategy: core.FixedWindow{Align: core.Clock}, By: "header:X-Api-Key"},
	{Name: "week", Rate: "5000/w@1d", Strategy: core.BucketedWindow{}, By: "header:X-Api-Key"},
	// Twenty at once, then ten a second.
	{Name: "burst", Rate: "10/s", Strategy: core.GCRA{Burst: 20}, By: "header:X-Api-Key"},
}

// endregion

// newApp makes the application. now is for tests; nil is the real time.
func newApp(now func() time.Time) (http.Handler, error) {
	l, err := core.New(core.Config{
		Backend:      memory.New(),
		Policies:     []core.Policy{money},
		User:         userOf,
		KeepDecision: true, // the handler says what is left
		Now:          now,
	})
	if err != nil {
		return nil, err
	}
	texts, err := core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{sms}, User: userOf, Now: now})
	if err != nil {
		return nil, err
	}
	keys, err := core.New(core.Config{Backend: memory.New(), Policies: api, Now: now})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	// Each layer gives the next one what it has checked: who it is, how much it
	// is, whether it may be.
	mux.Handle("POST /transfers", signedIn(withAmount(httplimit.New(l)(http.HandlerFunc(transfer)))))
	mux.Handle("GET /transfers", signedIn(left(l)))
	mux.Handle("POST /sms", signedIn(httplimit.New(texts)(say("sent\n"))))
	mux.Handle("GET /v1/report", withKey(httplimit.New(keys)(say("a,b,c\n"))))
	return mux, nil
}

// region cents

// cents has a transfer cost its amount.
type cents struct{ core.Base }

// Cost is the amount that withAmount has found right: the limit is for what the
// handler will move, not for another reading of the same bytes.
func (cents) Cost(r core.Request) int64 { return amountOf(r.Context()) }

// endregion

// transfer moves the money. It was charged before: where moving it fails
// half-way, the limit rather counts too much than too little.
func transfer(w http.ResponseWriter, r *http.Request) {
	d, _ := httplimit.Decision(r)
	fmt.Fprintf(w, "moved %s, %s left\n", format(amountOf(r.Context())), format(d.Remaining))
}

// left tells what the user can still move, and charges nothing.
func left(l *core.Limiter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user := r.Context().Value(userKey{}).(string)
		d, err := l.Peek(r.Context(), money.Name, core.KeyOf(core.KindUser, "", user), 0)
		if err != nil {
			http.Error(w, "not known now", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, "%s left\n", format(d.Remaining))
	})
}

func say(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
}
