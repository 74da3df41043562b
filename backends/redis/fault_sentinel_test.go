package redislimit

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// A failover by hand under load: what the old master had not passed on is
// forgotten, and so much more is admitted, at most one more limit. A master that
// insists on a replica stops as soon as it has none.
func TestFault_B1(t *testing.T) {
	t.Run("as it comes", func(t *testing.T) {
		lost, refused := failover(t)
		t.Logf("%d acknowledged charges were forgotten; %d calls met a server without replicas", lost, refused)
	})
	t.Run("min-replicas", func(t *testing.T) {
		lost, refused := failover(t, "min-replicas-to-write", "1", "min-replicas-max-lag", "1")
		t.Logf("%d acknowledged charges were forgotten; %d calls met a server without replicas", lost, refused)
		if refused == 0 {
			t.Error("nobody met a server without replicas")
		}
		if lost > 1000 {
			t.Errorf("%d charges were forgotten", lost)
		}
	})
}

// failover tells how many of the charges that were acknowledged were forgotten,
// and how many calls the server refused for want of replicas.
func failover(t *testing.T, config ...string) (lost, refused int64) {
	s := sentinels(t)
	for _, n := range s.Nodes {
		for i := 0; i < len(config); i += 2 {
			n.Do("CONFIG", "SET", config[i], config[i+1])
		}
	}
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Name, SentinelAddrs: s.Addrs()})
	defer c.Close()
	b := must(t, c, Options{Timeout: 100 * time.Millisecond})
	a := asking(t, core.FixedWindow{}, 1_000_000_000, 366*24*time.Hour)
	old := s.Master()
	var y tally
	stop := load(b, &y, func() core.Ask { return a })
	eventually(t, func() bool { return y.admitted.Load() > 300 })
	s.Sentinels[0].Do("SENTINEL", "FAILOVER", s.Name)
	eventually(t, func() bool { return s.Master() != old })
	before := y.admitted.Load()
	eventually(t, func() bool { return y.admitted.Load() > before+1000 })
	stop()
	y.inTime(t, b, core.ErrUnavailable)
	eventually(t, func() bool { _, err := take(b, 0, a); return err == nil })
	for text, err := range y.errs {
		if errors.Is(err, ErrReadOnly) && strings.Contains(text, "NOREPLICAS") {
			refused++
		}
	}
	return max(0, y.admitted.Load()+1-units(t, b, a)), refused
}

// The master hangs, or dies: calls return in time, and decisions go on when the
// replica was promoted.
func TestFault_B2(t *testing.T) {
	for name, fault := range map[string]func(*servers.Server){
		"killed": (*servers.Server).Kill, "frozen": (*servers.Server).Freeze,
	} {
		t.Run(name, func(t *testing.T) {
			s := sentinels(t)
			c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Name, SentinelAddrs: s.Addrs()})
			defer c.Close()
			b := must(t, c, Options{})
			const n = 500
			a := asking(t, core.SlidingWindow{}, n, time.Hour)
			old := s.Master()
			next := identities(t, 100)
			var y, others tally
			stop := load(b, &y, func() core.Ask { return a })
			stopOthers := load(b, &others, next)
			eventually(t, func() bool { return y.admitted.Load() > 100 })
			fault(s.Nodes[0])
			eventually(t, func() bool { return s.Master() != old })
			promoted := time.Now()
			eventually(t, func() bool {
				v, err := take(b, 0, a)
				if v.OK {
					y.admitted.Add(1)
				}
				return err == nil
			})
			t.Logf("decisions again %v after the promotion", time.Since(promoted))
			if time.Since(promoted) > 5*time.Second {
				t.Errorf("no decision for %v after the promotion", time.Since(promoted))
			}
			if changes(b) < 2 {
				t.Errorf("the breaker was not used: %+v", b.Breakers())
			}
			stop()
			stopOthers()
			others.inTime(t, b, core.ErrUnavailable)
			y.inTime(t, b, core.ErrUnavailable)
			if got := y.admitted.Load(); got > 2*n {
				t.Errorf("%d admitted, the limit is %d", got, n)
			}
		})
	}
}
