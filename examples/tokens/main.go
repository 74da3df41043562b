// A language model whose users have a limit in tokens, on net/http. README.md
// beside it says what to try.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on")
	flag.Parse()
	app, err := newApp(chatter, nil)
	if err == nil {
		fmt.Println("starting on http://" + *addr)
		err = http.ListenAndServe(*addr, app)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// region policies

// policies hold together: what one refuses is charged to neither. Only the one
// that counts tokens reserves.
var policies = []core.Policy{
	{Name: "tokens", Rate: "1000/m", Strategy: core.GCRA{}, By: "header:X-Api-Key", Missing: core.MissingRefuse,
		Reserve: true, Hooks: estimate{}},
	// A model has room for two answers to one user at once. None takes five minutes.
	{Name: "answers", Rate: "2/5m", Strategy: core.InFlight{}, By: "header:X-Api-Key", Missing: core.MissingRefuse},
}

// estimate charges the most that the answer may have.
type estimate struct{ core.Base }

// Cost implements core.Coster.
func (estimate) Cost(r core.Request) int64 { return atMost(r.Query("max")) }

// atMost is how many tokens an answer may have. The cost is the client's word, so
// it is kept within bounds, and the handler reads it by the same function.
func atMost(text string) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return min(max(n, 1), 400)
	}
	return 400
}

// endregion

// newApp makes the application. now is for tests; nil is the real time.
func newApp(m model, now func() time.Time) (http.Handler, error) {
	l, err := core.New(core.Config{Backend: memory.New(), Policies: policies, Now: now})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /answers", httplimit.New(l)(m))
	mux.HandleFunc("GET /left", func(w http.ResponseWriter, r *http.Request) {
		key := core.KeyOf(core.KindHeader, "X-Api-Key", r.Header.Get("X-Api-Key"))
		d, err := l.Peek(r.Context(), "tokens", key, 0)
		if err != nil {
			http.Error(w, "not known now", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, "%d tokens left\n", d.Remaining)
	})
	return mux, nil
}

// A model answers a prompt token by token, until ctx ends at the latest.
type model func(ctx context.Context, prompt string) iter.Seq[string]

// region stream

// ServeHTTP streams an answer. However it ends, the tokens that the model has made
// are settled: when it is complete, when the client leaves, when this panics.
func (m model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	made, most := int64(0), atMost(r.URL.Query().Get("max"))
	defer func() {
		// The client's context may have ended: Commit does not mind.
		if err := httplimit.Reservation(r).Commit(r.Context(), made); err != nil {
			log.Print(err) // the estimate stays
		}
	}()
	out := http.NewResponseController(w)
	for token := range m(r.Context(), r.FormValue("prompt")) {
		made++ // it has cost something, whether it arrives or not
		if _, err := io.WriteString(w, token+" "); err != nil || out.Flush() != nil || made == most {
			return
		}
	}
}

// endregion

// chatter stands for the model: it says one word five times a second.
func chatter(ctx context.Context, prompt string) iter.Seq[string] {
	return func(yield func(string) bool) {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for ok := true; ok; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				ok = yield(prompt)
			}
		}
	}
}
