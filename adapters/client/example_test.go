package clientlimit_test

import (
	"fmt"
	"net/http"
	"time"

	clientlimit "github.com/stint-go/stint/adapters/client"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func Example() {
	// region client
	l, err := core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{
		{Name: "calls", Rate: "10/s", Strategy: core.GCRA{Burst: 1}}, // to each host
	}})
	if err != nil {
		panic(err)
	}
	calls, err := l.Waiter("calls")
	if err != nil {
		panic(err)
	}
	client := &http.Client{
		Transport: &clientlimit.Transport{Waiter: calls},
		Timeout:   30 * time.Second, // what has to wait longer fails at once
	}
	// endregion
	fmt.Println(client.Timeout)
	// Output: 30s
}
