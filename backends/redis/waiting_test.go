package redislimit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

const waitersEach = 25

var queueing = core.Policy{Name: "jobs", Rate: "10/s", Strategy: core.GCRA{Burst: 1}}

// A slots is a backend that notes for which instants turns were reserved.
type slots struct {
	*Backend
	mu  sync.Mutex
	all []int64
	// then is called when a turn was reserved.
	then func()
}

func (s *slots) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	now, err := s.Backend.Take(ctx, at, asks, out)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, now+max(0, out[0].ResetAfter-100_000)) // a unit's own time is not waited for
	if s.then != nil {
		s.then()
	}
	return now, err
}

func queue(c redis.UniversalClient) (*slots, *core.Waiter, error) {
	b, err := New(c, Options{Timeout: patient})
	if err != nil {
		return nil, nil, err
	}
	s := &slots{Backend: b}
	l, err := core.New(core.Config{Backend: s, Policies: []core.Policy{queueing}})
	if err != nil {
		return nil, nil, err
	}
	w, err := l.Waiter(queueing.Name)
	return s, w, err
}

// A hundred callers in four processes wait for their turns at ten a second: the
// turns are a tenth of a second apart, nobody comes early, and each has cost one
// command, with one more for a turn that was given back.
func TestManyProcessesWaitTogether(t *testing.T) {
	t.Parallel()
	s := single(t)
	own, w, err := queue(plainClient(t, s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	first := core.NewKey("k", "the scripts are known from here on")
	giveBack := func() (turns int) { // reserves turns until one is given back before it comes
		var err error
		for ; err == nil; turns++ {
			var ctx context.Context
			ctx, own.then = context.WithCancel(t.Context())
			err = w.Wait(ctx, first, 1)
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		return turns
	}
	giveBack()
	s.Do("CONFIG", "RESETSTAT")
	var turns []int64
	var ready []*helper
	for range processes {
		ready = append(ready, startHelper(t, s, "wait"))
	}
	for _, h := range ready {
		h.line()
	}
	for _, h := range ready {
		h.stdin.Close()
	}
	for _, h := range ready {
		for range waitersEach {
			var slot, woken int64
			if _, err := fmt.Sscan(h.line(), &slot, &woken); err != nil || woken < slot || woken > slot+5_000_000 {
				t.Errorf("a turn at %d was taken at %d, %v", slot, woken, err)
			}
			turns = append(turns, slot)
		}
		if err := h.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(turns)
	for i := range turns[1:] {
		if d := turns[i+1] - turns[i]; d != 100_000 {
			t.Errorf("turn %d is %d us after the one before", i+1, d)
		}
	}
	all := len(turns) + giveBack()
	if got := commands(t, s, "evalsha"); got != all+1 {
		t.Errorf("%d commands for %d turns, one of them given back", got, all)
	}
}

// waitWork is one of the processes. It prints for when its turns were and when
// they were taken.
func waitWork() {
	c := redis.NewClient(&redis.Options{Addr: os.Getenv("STINT_WORKER")})
	s, w, err := queue(c)
	if err != nil {
		panic(err)
	}
	if err := c.Ping(context.Background()).Err(); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var woken []int64
	for range waitersEach {
		wg.Go(func() {
			if err := w.Wait(context.Background(), core.NewKey("k", "all"), 1); err != nil {
				panic(err)
			}
			mu.Lock()
			defer mu.Unlock()
			woken = append(woken, time.Now().UnixMicro())
		})
	}
	wg.Wait()
	slices.Sort(s.all)
	slices.Sort(woken)
	for i := range woken {
		fmt.Println(s.all[i], woken[i])
	}
}

// A helper is another process of this program.
type helper struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Scanner
}

func startHelper(t *testing.T, s *servers.Server, work string) *helper {
	t.Helper()
	h := &helper{t: t, cmd: exec.Command(os.Args[0])}
	h.cmd.Env = append(os.Environ(), "STINT_WORKER="+s.Addr(), "STINT_WORK="+work)
	h.cmd.Stderr = os.Stderr
	var err error
	if h.stdin, err = h.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.out = bufio.NewScanner(out)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.cmd.Process.Kill() })
	return h
}

// line is the next one that the process prints.
func (h *helper) line() string {
	h.t.Helper()
	if !h.out.Scan() {
		h.t.Fatalf("the process says no more: %v", h.out.Err())
	}
	return h.out.Text()
}
