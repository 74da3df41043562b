// Package matrix runs what concerns several adapters and backends at once. It
// has no code but tests, and is never published.
package matrix

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/core/adaptertest"
	"github.com/stint-go/stint/internal/servers"
)

// adapters are all there are; the others are compared with the first.
var adapters = []adaptertest.Adapter{netHTTP, ginAdapter, echoAdapter, fiberAdapter}

// backends are all there are, by name.
var backends = map[string]func(testing.TB) core.Backend{
	"memory":    func(testing.TB) core.Backend { return memory.New() },
	"redis":     openRedis,
	"memcached": openMemcached,
}

// raceShare divides how often rows repeat themselves.
var raceShare = 1

// shares divide it further where a decision is a round trip.
var shares = map[string]int{"memory": 1, "redis": 10, "memcached": 20}

// options are those of all runs on one of the backends. STINT_LONG asks for ten
// times as many repetitions.
func options(backend string) adaptertest.Options {
	o := adaptertest.Options{Backend: backends[backend], Effort: max(1, 100/raceShare/shares[backend]), Check: checkFields}
	if os.Getenv("STINT_LONG") != "" {
		o.Effort *= 10
	}
	return o
}

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	var err error
	if shared, err = servers.Shared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := shared.Close(code != 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// each runs f for every backend and adapter.
func each(t *testing.T, f func(t *testing.T, a adaptertest.Adapter, o adaptertest.Options)) {
	for name := range backends {
		for _, a := range adapters {
			t.Run(name+" "+a.Name, func(t *testing.T) { f(t, a, options(name)) })
		}
	}
}

// TestAllBehaveAlike runs the table with every adapter on every backend, and then
// compares what clients saw: all header fields and bodies, also those that no row
// names.
func TestAllBehaveAlike(t *testing.T) {
	const reference = "memory net/http"
	records := map[string]adaptertest.Record{}
	each(t, func(t *testing.T, a adaptertest.Adapter, o adaptertest.Options) {
		_, name, _ := strings.Cut(t.Name(), "/")
		o.Effort = options("memory").Effort // it shows in what clients see
		records[strings.ReplaceAll(name, "_", " ")] = adaptertest.Table(t, a, o)
	})
	for name, record := range records {
		t.Run(name+" and "+reference, func(t *testing.T) { compare(t, records[reference], record) })
	}
}

func compare(t *testing.T, want, got adaptertest.Record) {
	if len(want) != len(got) {
		t.Errorf("%d rows and %d rows", len(want), len(got))
	}
	for row, lines := range want {
		if !slices.Equal(lines, got[row]) {
			t.Errorf("%s:\n%s", row, firstDifference(got[row], lines))
		}
	}
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return "got  " + g + "\nwant " + w
		}
	}
	return "equal"
}
