package memory_test

import (
	"context"
	"fmt"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// A backend for a small machine: 10,000 counters in 4 MiB at most.
func Example() {
	b, err := memory.NewWith(memory.Options{MaxCells: 10_000, MaxBytes: 4 << 20})
	if err != nil {
		panic(err)
	}
	l, err := core.New(core.Config{Backend: b, Policies: []core.Policy{{Name: "api", Rate: "1/d"}}})
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"ann", "bob", "ann"} {
		d, err := l.Allow(context.Background(), "api", core.NewKey("user", name), 1)
		fmt.Println(name, d.Allowed, err)
	}
	fmt.Println(b.Stats().Cells, "counters")
	// Output:
	// ann true <nil>
	// bob true <nil>
	// ann false <nil>
	// 2 counters
}
