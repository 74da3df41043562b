package redislimit

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
)

// hot are the rates of the hot key. Their windows do not end while the test runs.
var hot = []core.Rate{
	{Limit: 1, Window: 24 * time.Hour},
	{Limit: 100, Window: 48 * time.Hour},
	{Limit: 3000, Window: 366 * 24 * time.Hour},
}

const processes, perProcess = 4, 16

// Four processes of 16 goroutines each ask for one hot key, for every strategy
// and rate: what they are given together is the limit exactly.
func TestManyProcessesShareOneLimit(t *testing.T) {
	s := shared.single()
	run := fmt.Sprint(os.Getpid())
	var workers []*exec.Cmd
	var outputs []*strings.Builder
	for range processes {
		c := exec.Command(os.Args[0])
		out := new(strings.Builder)
		c.Env = append(os.Environ(), "STINT_WORKER="+s.Addr(), "STINT_RUN="+run)
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
	for i, strategy := range five {
		for k, rate := range hot {
			if got := sums[fmt.Sprintf("%d/%d", i, k)]; got != rate.Limit {
				t.Errorf("%s, %d per %v: %d admitted", strategy.Name(), rate.Limit, rate.Window, got)
			}
		}
	}
}

// work is one of the processes. It prints what each key gave it.
func work() {
	c := redis.NewClient(&redis.Options{Addr: os.Getenv("STINT_WORKER"), PoolSize: perProcess})
	b, err := New(c, Options{Timeout: patient})
	if err != nil {
		panic(err)
	}
	// GCRA gives a unit back every W/N: a refusal by any process ends its loop
	// only when the burst is gone, so what trickles in later is not asked for.
	for i, strategy := range five {
		for k, rate := range hot {
			rule, err := strategy.Bind(rate)
			if err != nil {
				panic(err)
			}
			space := core.NewSpace("hot"+os.Getenv("STINT_RUN"), rate.Window.Microseconds(), rule.Shape(), nil, func(core.Cell) int64 {
				return time.Now().UnixMicro() - time.Hour.Microseconds() // the window began an hour ago
			})
			ask := core.Ask{Cell: core.Cell{Space: space, Key: core.NewKey("k", "hot")}, Rule: rule, Cost: 1}
			var admitted atomic.Int64
			crowd(perProcess, func() bool {
				v, err := take(b, 0, ask)
				if err != nil {
					panic(err)
				}
				if v.OK {
					admitted.Add(1)
				}
				return v.OK
			})
			fmt.Printf("%d/%d %d\n", i, k, admitted.Load())
		}
	}
}
