// API keys whose plans are in a database, on net/http. README.md beside it says
// what to try.
package main

import (
	"database/sql"
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
	path := flag.String("db", "plans.db", "database file; made if it is missing")
	flag.Parse()
	fmt.Fprintln(os.Stderr, run(*path))
	os.Exit(1)
}

func run(path string) error {
	db, err := open(path)
	if err != nil {
		return err
	}
	defer db.Close()
	public, admin, err := newApp(db, time.Now)
	if err != nil {
		return err
	}
	fmt.Println("starting on http://127.0.0.1:8080, and for changes of plans on http://127.0.0.1:8081")
	failed := make(chan error)
	go func() { failed <- http.ListenAndServe("127.0.0.1:8080", public) }()
	go func() { failed <- http.ListenAndServe("127.0.0.1:8081", admin) }()
	return <-failed
}

// newApp makes the application, and what changes plans, which is not for
// everybody to reach.
func newApp(db *sql.DB, now func() time.Time) (public, admin http.Handler, err error) {
	a := &identifier{accounts: newAccounts(db, now)}
	backend := memory.New()
	a.lookups, err = core.New(core.Config{Backend: backend, Now: now, Policies: []core.Policy{
		{Name: "lookups", Rate: "30/m"},
	}})
	if err != nil {
		return nil, nil, err
	}
	plans, err := core.New(core.Config{Backend: backend, Now: now, User: accountOf, Policies: []core.Policy{
		{Name: "plan", RateFunc: ratesOf, By: "user_or_ip"},
	}})
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", a.identify(httplimit.New(plans)(http.HandlerFunc(hello))))
	changes := http.NewServeMux()
	changes.HandleFunc("POST /accounts/{name}", a.accounts.change)
	return mux, changes, nil
}

func hello(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "hello %s\n", callerOf(r.Context()).name)
}
