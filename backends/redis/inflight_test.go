package redislimit

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/core"
)

// lease is how long what died holds its place.
const lease = 2 * time.Second

var running = core.Policy{Name: "jobs", Rate: "1/" + lease.String(), Strategy: core.InFlight{}}

// A process that is killed while it runs something frees its place when the lease
// ends, and not before.
func TestPlaceOfADeadProcessIsFreeAgain(t *testing.T) {
	s := single(t)
	b := must(t, plainClient(t, s.Addr()), Options{Timeout: patient})
	l := limiter(t, b, running)
	key := core.NewKey("k", "job")
	h := startHelper(t, s, "hold")
	var taken int64 // at the latest, by this machine's clock
	if _, err := fmt.Sscan(h.line(), &taken); err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = h.cmd.Wait()
	refused := 0
	eventually(t, func() bool {
		d, r, err := l.Reserve(t.Context(), running.Name, key, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !d.Allowed {
			refused++
			return false
		}
		now := time.Now().UnixMicro()
		if now-taken < lease.Microseconds() || refused == 0 {
			t.Errorf("free %d us after it was taken, refused %d times before", now-taken, refused)
		}
		if err := r.Cancel(t.Context()); err != nil {
			t.Error(err)
		}
		return true
	})
	if d, _, err := l.Reserve(t.Context(), running.Name, key, 1); err != nil || !d.Allowed {
		t.Errorf("what was given back is not free: %+v, %v", d, err)
	}
}

// holdWork is that process. It prints an instant before which the place was taken.
func holdWork() {
	b, err := New(redis.NewClient(&redis.Options{Addr: os.Getenv("STINT_WORKER")}), Options{Timeout: patient})
	if err != nil {
		panic(err)
	}
	l, err := core.New(core.Config{Backend: b, Policies: []core.Policy{running}})
	if err != nil {
		panic(err)
	}
	before := time.Now().UnixMicro()
	if d, _, err := l.Reserve(context.Background(), running.Name, core.NewKey("k", "job"), 1); err != nil || !d.Allowed {
		panic(fmt.Sprint(d, err))
	}
	fmt.Println(before)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// What is settled after the response is one command for the decision and one for
// all that is settled.
func TestOneCommandToDecideAndOneToSettle(t *testing.T) {
	s := single(t)
	b := must(t, plainClient(t, s.Addr()), Options{Timeout: patient})
	for name, policies := range map[string][]core.Policy{
		"reservation": {{Name: "a", Rate: "100/m; 1000/d", Reserve: true}, {Name: "b", Rate: "50/h", Strategy: core.GCRA{}, Reserve: true}},
		"outcome":     {{Name: "a", Rate: "100/m; 1000/d", CountIf: core.OnStatus(401)}, {Name: "b", Rate: "50/h", CountIf: core.OnStatus(5)}},
		"in flight":   {{Name: "a", Rate: "10/m", Strategy: core.InFlight{}}, {Name: "b", Rate: "50/h"}},
	} {
		l := limiter(t, b, policies...)
		const times = 10
		for i := range times + 1 {
			if i == 1 { // the scripts are known from here on
				s.Do("CONFIG", "RESETSTAT")
			}
			n := httplimit.Request(httptest.NewRequest("GET", "/", nil))
			var v core.Visit
			l.Enter(n, 0, &v)
			if !v.Pass {
				t.Fatalf("%s: %+v", name, v)
			}
			if v.Reservation != nil {
				if err := v.Reservation.Commit(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
			}
			v.Finish(n, 200)
			v.Leave()
		}
		if sha, eval := commands(t, s, "evalsha"), commands(t, s, "eval"); sha != 2*times || eval != 0 {
			t.Errorf("%s: %d requests were %d EVALSHA and %d EVAL", name, times, sha, eval)
		}
	}
}
