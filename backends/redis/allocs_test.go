//go:build !race

package redislimit

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

// Not under the race detector, which has pools forget now and then.
func TestRefusingAllocatesNothing(t *testing.T) {
	b := remembering(t, shared.single(), 0, time.Hour)
	for _, rate := range []string{"3/h", "3/h; 10/d"} {
		name := "p" + strconv.FormatInt(fresh.Add(1), 10)
		l := limiter(t, b, core.Policy{Name: name, Rate: rate})
		key := core.NewKey("k", "v")
		exhaust(t, l, name, key, 1)
		if n := testing.AllocsPerRun(1000, func() { _, _ = l.Allow(context.Background(), name, key, 1) }); n > 0 {
			t.Errorf("%s: %v allocations", rate, n)
		}
	}
}
