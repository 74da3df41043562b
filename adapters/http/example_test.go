package httplimit_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func Example() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	app := httplimit.Limit("2/d")(mux)

	for range 3 {
		w := httptest.NewRecorder()
		app.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Println(w.Code, w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// 200 "default";q=2;w=86400
	// 200 "default";q=2;w=86400
	// 429 "default";q=2;w=86400
}

// A policy that annotates leaves it to the handler what happens.
func ExampleDecision() {
	l, err := core.New(core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "search", Rate: "1/d", Mode: core.Annotate}},
	})
	if err != nil {
		panic(err)
	}
	app := httplimit.New(l)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d, ok := httplimit.Decision(r); ok && d.Limited {
			fmt.Println("results of yesterday")
			return
		}
		fmt.Println("results")
	}))
	for range 2 {
		app.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/search", nil))
	}
	// Output:
	// results
	// results of yesterday
}
