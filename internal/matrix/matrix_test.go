// Package matrix runs what concerns several adapters and backends at once. It
// has no code but tests, and is never published.
package matrix

import (
	"os"
	"slices"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/core/adaptertest"
)

// adapters are all there are; the others are compared with the first.
var adapters = []adaptertest.Adapter{netHTTP, ginAdapter, echoAdapter, fiberAdapter}

// backends are all there are, by name.
var backends = map[string]func(testing.TB) core.Backend{
	"memory": func(testing.TB) core.Backend { return memory.New() },
}

// raceShare divides how often rows repeat themselves.
var raceShare = 1

// options are those of all runs, with a backend. STINT_LONG asks for ten times as
// many repetitions.
func options(open func(testing.TB) core.Backend) adaptertest.Options {
	o := adaptertest.Options{Backend: open, Effort: 100 / raceShare, Check: checkFields}
	if os.Getenv("STINT_LONG") != "" {
		o.Effort *= 10
	}
	return o
}

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	os.Exit(m.Run())
}

// each runs f for every backend and adapter.
func each(t *testing.T, f func(t *testing.T, a adaptertest.Adapter, o adaptertest.Options)) {
	for name, open := range backends {
		for _, a := range adapters {
			t.Run(name+" "+a.Name, func(t *testing.T) { f(t, a, options(open)) })
		}
	}
}

// TestAdaptersBehaveAlike runs the table with every adapter, and then compares
// what clients saw: all header fields and bodies, also those that no row names.
func TestAdaptersBehaveAlike(t *testing.T) {
	for name, open := range backends {
		records := make([]adaptertest.Record, len(adapters))
		for i, a := range adapters {
			t.Run(name+" "+a.Name, func(t *testing.T) {
				records[i] = adaptertest.Table(t, a, options(open))
			})
		}
		for i, a := range adapters[1:] {
			t.Run(name+" "+a.Name+" and "+adapters[0].Name, func(t *testing.T) { compare(t, records[0], records[i+1]) })
		}
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
