package memcachedlimit

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// hot are the rates of the hot key. Their windows do not end while the test runs.
var hot = []core.Rate{
	{Limit: 1, Window: 24 * time.Hour},
	{Limit: 100, Window: 48 * time.Hour},
	{Limit: 2000, Window: 366 * 24 * time.Hour},
}

const processes = 4

// A run is what the processes are told.
type run struct {
	callers int             // of each process
	all     []core.Strategy // all, or the first ones of it
	mixed   bool            // costs from 1 to 5
}

// Four processes of 16 goroutines each ask for one hot key that nobody has used
// yet, for every strategy and rate: what they are given together is the limit
// exactly. It is the test of C3 and C9 as well: a counter that many create at
// once, and a decision that is made of what incr returned.
func TestManyProcessesShareOneLimit(t *testing.T) {
	t.Run("one server", func(t *testing.T) { run{callers: 16, all: all}.among(t, shared.single()) })
	t.Run("three servers", func(t *testing.T) { run{callers: 16, all: all}.among(t, shared.three()...) })
}

// Large costs are taken back while small ones are decided, which may be refused
// then; nothing is lost by that, and nothing admitted twice.
func TestManyProcessesOfMixedCosts(t *testing.T) {
	run{callers: 16, all: all, mixed: true}.among(t, shared.single())
}

func TestFault_C9(t *testing.T) { run{callers: 64, all: counted}.among(t, shared.single()) }

func (r run) among(t *testing.T, where ...*servers.Server) {
	var addrs []string
	for _, s := range where {
		addrs = append(addrs, s.Addr())
	}
	// The windows began an hour ago, whoever asks.
	begin := time.Now().Add(-time.Hour).UnixMicro()
	name := fmt.Sprint(fresh.Add(1), "-", os.Getpid())
	var workers []*exec.Cmd
	var outputs []*strings.Builder
	for range processes {
		c := exec.Command(os.Args[0])
		out := new(strings.Builder)
		c.Env = append(os.Environ(), "STINT_WORKER="+strings.Join(addrs, ","), "STINT_RUN="+name,
			fmt.Sprintf("STINT_WORK=%d %d %d %t", begin, r.callers, len(r.all), r.mixed))
		c.Stdout, c.Stderr = out, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		workers, outputs = append(workers, c), append(outputs, out)
	}
	sums := map[string]int64{}
	for i, c := range workers {
		if err := c.Wait(); err != nil {
			t.Fatalf("a process failed: %v", err)
		}
		for line := range strings.Lines(outputs[i].String()) {
			name, n, _ := strings.Cut(strings.TrimSpace(line), " ")
			units, err := strconv.ParseInt(n, 10, 64)
			if err != nil {
				t.Fatalf("a process says %q", line)
			}
			sums[name] += units
		}
	}
	b := on(t, where...)
	for i, strategy := range r.all {
		for k, rate := range hot {
			ask := hotAsk(strategy, rate, name, begin)
			admitted := sums[fmt.Sprintf("%d/%d", i, k)]
			if got := units(t, b, 0, ask); got != admitted {
				t.Errorf("%+v, %d per %v: %d were admitted and %d are used", strategy, rate.Limit, rate.Window, admitted, got)
			}
			if r.mixed { // what was refused beside a larger cost is still there
				for {
					v, err := take(b, 0, ask)
					if err != nil {
						t.Fatal(err)
					}
					if !v.OK {
						break
					}
					admitted++
				}
			}
			if admitted != rate.Limit {
				t.Errorf("%+v, %d per %v: %d admitted", strategy, rate.Limit, rate.Window, admitted)
			}
		}
	}
}

func hotAsk(strategy core.Strategy, rate core.Rate, run string, begin int64) core.Ask {
	rule, err := strategy.Bind(rate)
	if err != nil {
		panic(err)
	}
	space := core.NewSpace("hot"+run, rate.Window.Microseconds(), rule.Shape(), nil, func(core.Cell) int64 { return begin })
	return core.Ask{Cell: core.Cell{Space: space, Key: core.NewKey("k", "hot")}, Rule: rule, Cost: 1}
}

// work is one of the processes. It prints what each key gave it.
func work() {
	b, err := New(strings.Split(os.Getenv("STINT_WORKER"), ","), Options{Timeout: patient})
	if err != nil {
		panic(err)
	}
	var begin int64
	var callers, first int
	var mixed bool
	if _, err := fmt.Sscan(os.Getenv("STINT_WORK"), &begin, &callers, &first, &mixed); err != nil {
		panic(err)
	}
	// GCRA gives a unit back every W/N: a refusal by any process ends its loop
	// only when the burst is gone, so what trickles in later is not asked for.
	for i, strategy := range all[:first] {
		for k, rate := range hot {
			ask := hotAsk(strategy, rate, os.Getenv("STINT_RUN"), begin)
			var admitted, asked atomic.Int64
			crowd(callers, func() bool {
				a := ask
				if mixed {
					a.Cost = 1 + asked.Add(1)%5
				}
				v, err := take(b, 0, a)
				if err != nil {
					panic(err)
				}
				if v.OK {
					admitted.Add(a.Cost)
				}
				return v.OK || a.Cost > 1
			})
			fmt.Printf("%d/%d %d\n", i, k, admitted.Load())
		}
	}
}
