package main

import (
	"io"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	redislimit "github.com/stint-go/stint/backends/redis"
	"github.com/stint-go/stint/core"
)

// limit is what each API key gets in a minute, from all processes together.
const limit = 10

// newApp is the application that both processes run. Without an address of Redis
// it counts in its own memory.
func newApp(redisURL string) (http.Handler, error) {
	var backend core.Backend = memory.New()
	if redisURL != "" {
		o, err := redis.ParseURL(redisURL)
		if err != nil {
			return nil, err
		}
		if backend, err = redislimit.New(redis.NewClient(o), redislimit.Options{}); err != nil {
			return nil, err
		}
	}
	l, err := core.New(core.Config{
		Backend: backend,
		Policies: []core.Policy{{
			Name:     "hello",
			Rates:    core.Rates{{Limit: limit, Window: time.Minute}},
			Key:      core.ByHeader("X-Api-Key"),
			Strategy: core.MovingWindow{}, // never more than the limit in any minute
		}},
	})
	if err != nil {
		return nil, err
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello\n") })
	return httplimit.New(l)(hello), nil
}
