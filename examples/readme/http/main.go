// The README's program for net/http.
package main

import (
	"io"
	"log"
	"net/http"

	httplimit "github.com/stint-go/stint/adapters/http"
)

// region program

func main() {
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", newApp()))
}

func newApp() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /login", httplimit.Limit("5/15m")(http.HandlerFunc(login)))
	return httplimit.Limit("100/m; 2000/d")(mux)
}

func login(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, "welcome\n")
}

// endregion
