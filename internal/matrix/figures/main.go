// Command figures measures what docs/RELIABILITY.md states: how late a decision
// can be while its backend is dead, how soon it is back, what a failover forgets,
// what a flood of keys weighs. It prints a line each, "name value unit".
//
//	go run ./internal/matrix/figures            # all, about five minutes
//	go run ./internal/matrix/figures -run dead  # some, by name
//
// It starts servers of its own. The latencies mean something on a machine that
// does nothing else.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"

	"github.com/redis/go-redis/v9"

	"github.com/stint-go/stint/internal/servers"
)

// A measurement prints figures.
type measurement struct {
	name string
	run  func(tb servers.TB)
}

var measurements = []measurement{
	{"dead-backend", deadBackend},
	{"recovery-restart", recoveryRestart},
	{"recovery-sentinel", recoverySentinel},
	{"recovery-cluster", recoveryCluster},
	{"failover-lost", failoverLost},
	{"double-counts", doubleCounts},
	{"flood", flood},
	{"goroutines", goroutines},
}

func main() {
	pattern := flag.String("run", "", "only those whose name matches this regular expression")
	flag.Parse()
	only, err := regexp.Compile(*pattern)
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(2)
	}
	redis.SetLogger(quiet{})
	for _, m := range measurements {
		if !only.MatchString(m.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", m.name)
		p, err := servers.Shared() // Fatalf stops its servers and ends the process
		if err != nil {
			fmt.Fprintln(os.Stderr, "figures:", err)
			os.Exit(1)
		}
		m.run(p)
		if err := p.Close(false); err != nil {
			fmt.Fprintln(os.Stderr, "figures:", err)
		}
	}
}

// quiet keeps the client's log, one line per dial that fails, off the terminal.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func print(name string, value any, unit string) { fmt.Println(name, value, unit) }
