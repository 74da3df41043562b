package memcachedlimit_test

import (
	"fmt"
	"net/http"

	"github.com/bradfitz/gomemcache/memcache"
	httplimit "github.com/stint-go/stint/adapters/http"
	memcachedlimit "github.com/stint-go/stint/backends/memcached"
	"github.com/stint-go/stint/core"
)

func ExampleNew() {
	// region move
	servers := []string{"10.0.0.1:11211", "10.0.0.2:11211"}
	backend, err := memcachedlimit.New(servers, memcachedlimit.Options{}) // where there was memory.New()
	// endregion
	if err != nil {
		panic(err)
	}
	defer backend.Close()
	l, err := core.New(core.Config{
		Backend:  backend,
		Policies: []core.Policy{{Name: "login", Rate: "5/15m"}},
	})
	if err != nil {
		panic(err)
	}
	http.Handle("POST /login", httplimit.New(l)(http.NotFoundHandler()))
	fmt.Println("memcached need not be up yet")
	// Output: memcached need not be up yet
}

func ExampleNewFromSelector() {
	// region selector
	servers := new(memcache.ServerList) // or a ring of your own
	if err := servers.SetServers("127.0.0.1:11211"); err != nil {
		panic(err)
	}
	backend, err := memcachedlimit.NewFromSelector(servers, memcachedlimit.Options{})
	// endregion
	fmt.Println(backend != nil, err)
	// Output: true <nil>
}

func ExampleNew_refused() {
	_, err := memcachedlimit.New([]string{"localhost"}, memcachedlimit.Options{})
	fmt.Println(err)
	// Output: memcachedlimit: server "localhost" is not an address: write host and port, such as "127.0.0.1:11211"
}
