package redislimit_test

import (
	"fmt"
	"net/http"

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
