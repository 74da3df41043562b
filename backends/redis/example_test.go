package redislimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/redis/go-redis/v9"

	httplimit "github.com/stint-go/stint/adapters/http"
	redislimit "github.com/stint-go/stint/backends/redis"
	"github.com/stint-go/stint/core"
)

func ExampleNew() {
	// region move
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	backend, err := redislimit.New(rdb, redislimit.Options{}) // where there was memory.New()
	// endregion
	if err != nil {
		panic(err)
	}
	defer rdb.Close()
	l, err := core.New(core.Config{
		Backend:  backend,
		Policies: []core.Policy{{Name: "login", Rate: "5/15m"}},
	})
	if err != nil {
		panic(err)
	}
	http.Handle("POST /login", httplimit.New(l)(http.NotFoundHandler()))
	fmt.Println("Redis need not be up yet")
	// Output: Redis need not be up yet
}

func ExampleNew_cluster() {
	// region cluster
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:                 []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"},
		ContextTimeoutEnabled: true, // New refuses the client without it
	})
	// endregion
	defer rdb.Close()
	_, err := redislimit.New(rdb, redislimit.Options{})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleNew_sentinel() {
	// region sentinel
	rdb := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName:    "main",
		SentinelAddrs: []string{"10.0.0.1:26379", "10.0.0.2:26379", "10.0.0.3:26379"},
	})
	// endregion
	defer rdb.Close()
	_, err := redislimit.New(rdb, redislimit.Options{})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleNew_ring() {
	// region ring
	rdb := redis.NewRing(&redis.RingOptions{
		Addrs:                 map[string]string{"a": "10.0.0.1:6379", "b": "10.0.0.2:6379"},
		ContextTimeoutEnabled: true, // New refuses the client without it
	})
	// endregion
	defer rdb.Close()
	_, err := redislimit.New(rdb, redislimit.Options{})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleNew_refused() {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:6379"}})
	defer rdb.Close()
	_, err := redislimit.New(rdb, redislimit.Options{})
	fmt.Println(err)
	// Output: redislimit: a server that hangs would hang every request: set ContextTimeoutEnabled in redis.ClusterOptions
}

// While Redis is down, here from the start, each policy does what its OnFailure
// says.
func ExampleBackend_Fallback() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // nobody is there
	defer rdb.Close()
	backend, err := redislimit.New(rdb, redislimit.Options{})
	if err != nil {
		panic(err)
	}
	// region modes
	l, err := core.New(core.Config{
		Backend:   backend,
		Instances: 4, // processes that share this Redis
		Policies: []core.Policy{
			{Name: "api", Rate: "100/m"}, // core.Fallback: 25/m in each process
			{Name: "login", Rate: "5/15m", Methods: core.Unsafe, OnFailure: core.FailClosed},
			{Name: "metrics", Rate: "10/s", OnFailure: core.FailOpen},
		},
	})
	// endregion
	if err != nil {
		panic(err)
	}
	ctx, bob := context.Background(), core.NewKey("job", "bob")
	// region ask
	d, err := l.Allow(ctx, "api", bob, 1)
	fmt.Println(d.Allowed, d.Degraded, d.Remaining, err) // true true 24 <nil>
	d, err = l.Allow(ctx, "metrics", bob, 1)
	fmt.Println(d.Allowed, d.Degraded, err) // true true <nil>
	d, err = l.Allow(ctx, "login", bob, 1)
	fmt.Println(d.Allowed, d.RetryAfter, errors.Is(err, core.ErrUnavailable)) // false 5s true
	// endregion
	app := httplimit.New(l)(http.HandlerFunc(search))
	for _, method := range []string{"GET", "POST"} {
		w := httptest.NewRecorder()
		app.ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		fmt.Println(method, w.Code)
	}
	// Output:
	// true true 24 <nil>
	// true true <nil>
	// false 5s true
	// GET 200
	// POST 503
}

// region handler

// search needs Config.KeepDecision, so that the Decision is there.
func search(w http.ResponseWriter, r *http.Request) {
	if d, ok := httplimit.Decision(r); ok && d.Degraded {
		fmt.Fprintln(w, "results of yesterday") // and be careful with what costs much
		return
	}
	fmt.Fprintln(w, "results")
}

// endregion
