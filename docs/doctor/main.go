// Command doctor is a server that looks after its limits when it starts, and on a
// page for whoever runs it.
//
//	go run ./docs/doctor
//	curl localhost:8080/limits
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"slices"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func main() {
	l, err := core.New(core.Config{
		Backend: memory.New(),
		Policies: []core.Policy{
			{Name: "pages", Rate: "10/m", Key: core.ByHeader("X-Api-Key")}, // not wise, as will be seen
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	// region start
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	findings, err := l.Doctor(ctx)
	cancel()
	if err != nil {
		slog.Warn("limits: not all could be looked at", "err", err) // the backend may be down: no reason not to start
	}
	for _, f := range findings {
		slog.Warn("limits", "code", f.Code, "policy", f.Policy, "reason", f.Reason, "remedy", f.Remedy)
	}
	// endregion
	mux := http.NewServeMux()
	mux.Handle("/", httplimit.New(l)(http.HandlerFunc(hello)))
	mux.Handle("/limits", health(l))
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", mux))
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello\n") }

// region health

// health is a page for operators, who know what is meant so.
func health(l *core.Limiter) http.Handler {
	meant := []string{"few-private-peers"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		findings, err := l.Doctor(r.Context())
		findings = slices.DeleteFunc(findings, func(f core.Finding) bool { return slices.Contains(meant, f.Code) })
		if err != nil || len(findings) > 0 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		for _, f := range findings {
			fmt.Fprintln(w, f)
		}
		if err != nil {
			fmt.Fprintln(w, err)
		}
	})
}

// endregion
