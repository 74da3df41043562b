// Handlers that ask the limiter themselves, and one page for all refusals, in
// Gin. README.md beside it says what to try.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"

	ginlimit "github.com/stint-go/stint/adapters/gin"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on")
	flag.Parse()
	app, err := newApp(memory.New(), nil)
	if err == nil {
		fmt.Println("starting on http://" + *addr)
		err = http.ListenAndServe(*addr, app)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// An app is what the handlers have in common.
type app struct {
	everyone, misses, invitations *core.Limiter
}

// newApp makes the application. now is for tests; nil is the real time.
func newApp(backend core.Backend, now func() time.Time) (http.Handler, error) {
	var errs []error
	limiter := func(p core.Policy) *core.Limiter {
		l, err := core.New(core.Config{Backend: backend, Policies: []core.Policy{p}, Disallowed: page, Now: now})
		errs = append(errs, err)
		return l
	}
	a := app{
		everyone:    limiter(core.Policy{Name: "everyone", Rate: "20/m"}),
		misses:      limiter(core.Policy{Name: "misses", Rate: "5/10m", Strategy: core.BucketedWindow{}}),
		invitations: limiter(core.Policy{Name: "invitations", Rate: "3/d", Strategy: core.MovingWindow{}}),
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.GET("/quota", a.quota) // outside of the limit that it tells of
	limited := r.Group("/", ginlimit.New(a.everyone))
	limited.GET("/", func(c *gin.Context) { c.String(http.StatusOK, "hello\n") })
	limited.GET("/files/:id", a.file)
	limited.POST("/invitations", a.invite)
	return r, nil
}
