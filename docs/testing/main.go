// Command testing is a guest book, to show how an application with limits is
// tested.
//
//	go run ./docs/testing
//	curl -d text=hello localhost:8080/entries
package main

import (
	"fmt"
	"log"
	"net/http"
	"sync"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// region app

// limits are those of the application. Tests begin with them too, and change
// what they need.
func limits() core.Config {
	return core.Config{
		Backend: memory.New(),
		Policies: []core.Policy{
			{Name: "pages", Rate: "100/m"},
			{Name: "sign", Rate: "3/10m", Methods: core.Unsafe},
		},
	}
}

// An app is the whole application, as main and the tests have it.
type app struct {
	http.Handler
	limiter *core.Limiter
	book    book
}

func newApp(limits core.Config) (*app, error) {
	l, err := core.New(limits)
	if err != nil {
		return nil, err
	}
	a := &app{limiter: l}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /entries", a.book.read)
	mux.HandleFunc("POST /entries", a.book.sign)
	a.Handler = httplimit.New(l)(mux)
	return a, nil
}

// endregion

func main() {
	a, err := newApp(limits())
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("localhost:8080", a))
}

// A book keeps the last hundred entries.
type book struct {
	mu      sync.Mutex
	entries []string
}

func (b *book) read(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		fmt.Fprintf(w, "%q\n", e)
	}
}

func (b *book) sign(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = append(b.entries, r.PostFormValue("text"))
	b.entries = b.entries[max(0, len(b.entries)-100):]
	w.WriteHeader(http.StatusCreated)
}
