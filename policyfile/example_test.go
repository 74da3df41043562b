package policyfile_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/policyfile"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "limits.yaml")
	os.WriteFile(path, []byte("policies: [{name: api, rate: 1/h}]"), 0o600)

	// region open
	limits, err := policyfile.Open(path, core.Config{Backend: memory.New()}, policyfile.Options{
		Event: func(e policyfile.Event) { fmt.Println("limits changed:", e.Changed, e.Err) },
	})
	if err != nil {
		panic(err) // everything that is wrong with the file, with lines
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") })
	limited := policyfile.Mount(limits, func(l *core.Limiter) http.Handler { return httplimit.New(l)(hello) })
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { limited().ServeHTTP(w, r) })
	// endregion

	get := func() int {
		w := httptest.NewRecorder()
		app.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		return w.Code
	}
	fmt.Println(get(), get())
	os.WriteFile(path, []byte("policies: [{name: api, rate: 3/h}]"), 0o600)
	if err := limits.Reload(); err != nil { // or: go limits.Watch(ctx, 10*time.Second)
		panic(err)
	}
	fmt.Println(get(), get(), get()) // one is consumed
	// Output:
	// 200 429
	// limits changed: [api] <nil>
	// 200 200 429
}
