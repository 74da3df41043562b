package redislimit

import (
	"strconv"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// wire is how many bytes a server has been sent and has sent since its start.
func wire(t testing.TB, s *servers.Server) (in, out float64) {
	t.Helper()
	info := s.Do("INFO", "stats")
	number := func(name string) float64 {
		n, err := strconv.ParseFloat(infoField(info, name), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return number("total_net_input_bytes"), number("total_net_output_bytes")
}

// A decision of one ask is small on the wire: at most 180 bytes there and 60
// back, admitted or refused; more come back where a state is larger: the counters of
// a BucketedWindow, the two ends of a MovingWindow's log.
func TestOneDecisionIsSmallOnTheWire(t *testing.T) {
	s := servers.Redis(t)
	b := on(t, s)
	inBefore, outBefore := wire(t, s)
	inAfter, outAfter := wire(t, s)
	askIn, askOut := inAfter-inBefore, outAfter-outBefore // of asking for the numbers
	for _, strategy := range five {
		for _, limit := range []int64{10_000, 1} {
			a := asking(t, strategy, limit, 24*time.Hour)
			a.Cell.Space = core.NewSpace("login", a.Cell.Space.Window(), a.Rule.Shape(), nil, nil)
			if _, err := take(b, 0, a); err != nil {
				t.Fatal(err)
			}
			const times = 500
			inBefore, outBefore = wire(t, s)
			for range times {
				if v, err := take(b, 0, a); err != nil || v.OK != (limit > 1) {
					t.Fatal(v, err)
				}
			}
			inAfter, outAfter = wire(t, s)
			in, out := (inAfter-inBefore-askIn)/times, (outAfter-outBefore-askOut)/times
			t.Logf("%-16s limit %6d: %5.1f bytes to the server, %5.1f back, %s bytes of memory", strategy.Name(), limit,
				in, out, s.Do("MEMORY", "USAGE", nameOf(a)))
			most := 60.0
			if words := a.Rule.Words(); words == 0 || words > 4 {
				most = 100
			}
			if in > 180 || out > most {
				t.Errorf("%s: %.1f bytes to the server and %.1f back", strategy.Name(), in, out)
			}
		}
	}
}
