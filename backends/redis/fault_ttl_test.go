package redislimit

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/faultproxy"
	"github.com/stint-go/stint/internal/servers"
)

// expiry is when the server drops a key, in microseconds, and the state there.
func expiry(t *testing.T, b *Backend, s *servers.Server, a core.Ask) (dropped int64, state core.State, now int64) {
	t.Helper()
	ts, err := b.targets([]core.Ask{a}, false)
	if err != nil {
		t.Fatal(err)
	}
	ms, err := strconv.ParseInt(s.Do("PEXPIRETIME", nameOf(a)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	snaps, err := b.read(background(), 0, ts)
	if err != nil {
		t.Fatal(err)
	}
	return ms * 1000, snaps[0].state, snaps[0].now
}

// No key stays for ever: after PERSIST, after a connection cut at any byte, for
// windows of any length.
func TestFault_A16(t *testing.T) {
	s := single(t)
	b := on(t, s)
	for _, strategy := range five {
		for _, window := range []time.Duration{time.Millisecond, 999 * time.Millisecond, 1900 * time.Millisecond, time.Hour} {
			a := asking(t, strategy, 1000, window)
			if _, err := take(b, 0, a); err != nil {
				t.Fatal(err)
			}
			clean(t, s)
			s.Do("PERSIST", nameOf(a))
			if v, err := take(b, 0, a); err != nil || !v.OK {
				t.Fatal(v, err)
			}
			clean(t, s)
		}
	}
	p := faultproxy.New(t, s.Addr())
	cut := must(t, plainClient(t, p.Addr()), Options{})
	var asks []core.Ask
	for _, strategy := range five {
		asks = append(asks, asking(t, strategy, 10_000, 366*24*time.Hour)) // none comes back meanwhile
	}
	if _, err := b.Take(background(), 0, asks, make([]core.Verdict, len(asks))); err != nil { // the server learns the script
		t.Fatal(err)
	}
	step := 7
	if long() {
		step = 1
	}
	for n := 1; n < 1200; n += step {
		p.Set(faultproxy.Mode{ResetAfter: n})
		_, _ = cut.Take(background(), 0, asks, make([]core.Verdict, len(asks)))
		p.Cut()
	}
	clean(t, s)
	var used []int64
	for _, a := range asks {
		used = append(used, units(t, b, a))
	}
	for _, n := range used {
		if n != used[0] {
			t.Errorf("some hard asks of a decision were charged and some were not: %v", used)
		}
	}
	if used[0] < 2 {
		t.Error("no decision came through: the cuts were too early to mean anything")
	}
}

// A key lives until its state no longer matters, and not much longer.
func TestFault_A17(t *testing.T) {
	s := single(t)
	b := on(t, s)
	for _, strategy := range five {
		for _, window := range []time.Duration{1500 * time.Millisecond, 7 * time.Second, 24 * time.Hour} {
			a := asking(t, strategy, 50, window)
			for i, cost := range []int64{1, 1, 7, 30, 50, 3} {
				a.Cost, a.When = cost, core.OnAdmit
				if i > 3 {
					a.When = core.Always
				}
				v, err := take(b, 0, a)
				if err != nil {
					t.Fatal(err)
				}
				if i == 2 {
					if err := b.Settle(background(), 0, []core.Ask{a}, []core.Receipt{v.Receipt}, []int64{-3}); err != nil {
						t.Fatal(err)
					}
				}
				dropped, state, _ := expiry(t, b, s, a)
				until := a.Rule.Until(state)
				if dropped+999 < until || dropped > until+3_000_000 {
					t.Errorf("%s per %v, cost %d: the state matters until %d, its key is dropped at %d", strategy.Name(), window, cost, until, dropped)
				}
			}
		}
	}
	clean(t, s)
}

// Hits that go on and on do not move the window.
func TestFault_A18(t *testing.T) {
	b := on(t, shared.single())
	for _, strategy := range []core.Strategy{core.FixedWindow{Align: core.FirstHit}, core.FixedWindow{}, core.SlidingWindow{}, core.GCRA{}, core.MovingWindow{}, core.BucketedWindow{}} {
		a := asking(t, strategy, 2, time.Minute)
		const start = 1_700_000_000_000_000
		admitted := 0
		for i := range int64(60) { // every five seconds for five windows
			at := start + i*5_000_000
			v, err := take(b, at, a)
			if err != nil {
				t.Fatal(err)
			}
			if v.OK {
				admitted++
			}
		}
		if admitted < 8 {
			t.Errorf("%s: %d admitted in five windows of 2", strategy.Name(), admitted)
		}
		if err := b.Reset(background(), a.Cell); err != nil {
			t.Fatal(err)
		}
	}
}

// A call's work is bounded, whatever has piled up: it is counted in commands
// within the script, for a log of 20,000 entries that all have passed.
func TestFault_A19(t *testing.T) {
	s := single(t)
	b := on(t, s)
	strategy := core.MovingWindow{Max: 30_000}
	const start = 1_700_000_000_000_000
	for _, idle := range []int64{0, 30_000_000, 59_990_000, 90_000_000} {
		a := asking(t, strategy, 20_000, time.Minute)
		name, _ := cellName(&a.Cell, true)
		line := []string{"RPUSH", name, "0", "0"}
		for i := range int64(20_000) {
			line = append(line, fmt.Sprint(start+i), fmt.Sprint(i+1))
		}
		s.Do(line...)
		s.Do("PEXPIRE", name, "3600000")
		for _, cost := range []int64{1, 15_000, 20_000} {
			a.Cost = cost
			s.Do("CONFIG", "RESETSTAT")
			if _, err := take(b, start+20_000+idle, a); err != nil {
				t.Fatal(err)
			}
			if n := commands(t, s, "lrange", "ltrim", "lset", "rpush", "lindex"); n > 100 {
				t.Errorf("a cost of %d after %d µs took %d commands on the log", cost, idle, n)
			}
		}
		s.Do("DEL", name)
	}
}

// commands is how often the server has run these, since CONFIG RESETSTAT.
func commands(t *testing.T, s *servers.Server, names ...string) (n int) {
	t.Helper()
	for line := range strings.Lines(s.Do("INFO", "commandstats")) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "cmdstat_"), ":calls=")
		calls, _, _ := strings.Cut(rest, ",")
		for _, want := range names {
			if name == want {
				k, err := strconv.Atoi(calls)
				if err != nil {
					t.Fatal(err)
				}
				n += k
			}
		}
	}
	return n
}
