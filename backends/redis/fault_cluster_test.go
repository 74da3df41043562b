package redislimit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// load takes asks from several goroutines until stop is called.
func load(b *Backend, y *tally, next func() core.Ask) (stop func()) {
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for !done.Load() {
				y.pace(b, next())
			}
		})
	}
	return func() { done.Store(true); wg.Wait() }
}

// A master of a cluster is killed: decisions go on soon after its replica was
// promoted, because the backend looks for the nodes anew.
func TestFault_B3(t *testing.T) {
	cl := cluster(t)
	b := ofCluster(t, cl, DefaultTimeout, false)
	a := asking(t, core.GCRA{}, 1_000_000, time.Hour)
	recovers(t, b, 5*time.Second, a)
	master, _ := ownerOf(t, cl, slotOf(a))
	var y tally
	stop := load(b, &y, identities(t, 300))
	eventually(t, func() bool { return y.admitted.Load() > 300 })
	masters := map[string]bool{}
	for _, s := range b.Breakers() {
		masters[s.Addr] = true
	}
	master.Kill()
	eventually(t, func() bool { // promoted, as another node sees it
		now, ok := ownerOf(t, cl, slotOf(a))
		return ok && now != master
	})
	recovers(t, b, time.Second, a)
	stop()
	y.inTime(t, b, core.ErrUnavailable)
	// The replica's breaker may have opened too, before it was promoted: it sent its
	// callers on to the dead master.
	for _, s := range b.Breakers() {
		if s.Addr == master.Addr() && s.Changes == 0 || masters[s.Addr] && s.Addr != master.Addr() && s.Open {
			t.Errorf("killed was %s; breaker %+v", master.Addr(), s)
		}
	}
}

// A slot moves back and forth under load: nothing is lost or counted twice.
func TestFault_B4(t *testing.T) {
	cl := shared.cluster()
	tidy(t, func() []*servers.Server { return cl.Nodes })
	b := onCluster(t, patient)
	const n = 5000
	for _, strategy := range []core.Strategy{core.FixedWindow{}, core.MovingWindow{}} {
		a, second := asking(t, strategy, n, time.Hour), asking(t, core.GCRA{Burst: 2 * n}, n, time.Hour)
		second.Cell.Key = a.Cell.Key // a second rate of the same identity
		slot := slotOf(a)
		var y tally
		var done atomic.Bool
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for !done.Load() {
					out := make([]core.Verdict, 2)
					_, err := b.Take(background(), 0, []core.Ask{a, second}, out)
					switch {
					case err != nil || out[0].Err != nil || out[1].Err != nil:
						t.Errorf("errors %v %v %v", err, out[0].Err, out[1].Err)
						return
					case out[0].OK:
						y.admitted.Add(1)
					default:
						y.refused.Add(1)
					}
				}
			})
		}
		var owner *servers.Server
		for range 10 {
			owner = move(t, cl, slot)
		}
		eventually(t, func() bool {
			agreed(t, cl, slot, owner)
			return y.refused.Load() > 100 || t.Failed()
		})
		done.Store(true)
		wg.Wait()
		if y.admitted.Load() != n {
			t.Errorf("%s: %d admitted while the slot moved, the limit is %d", strategy.Name(), y.admitted.Load(), n)
		}
	}
}

// One part of the cluster is gone: the others decide as ever.
func TestFault_B5(t *testing.T) {
	cl := cluster(t)
	b := ofCluster(t, cl, 200*time.Millisecond, false)
	gone := asking(t, core.GCRA{}, 10, time.Hour)
	recovers(t, b, 5*time.Second, gone)
	master, _ := ownerOf(t, cl, slotOf(gone))
	lost := []core.Ask{gone}
	for len(lost) < 5 {
		a := asking(t, core.GCRA{}, 10, time.Hour)
		if owner, ok := ownerOf(t, cl, slotOf(a)); ok && owner == master {
			lost = append(lost, a)
		}
	}
	id := master.Do("CLUSTER", "MYID")
	for _, n := range cl.Nodes {
		if n != master && strings.Contains(n.Do("INFO", "replication"), "role:slave") &&
			strings.Contains(n.Do("CLUSTER", "NODES"), "myself,slave "+id) {
			n.Kill()
		}
	}
	master.Kill()
	var y tally
	for i := range 20 {
		y.take(b, lost[i%len(lost)])
	}
	if y.errs[errOpen.Error()] == nil {
		t.Errorf("its breaker did not open: %+v", b.Breakers())
	}
	if y.failed.Load() != 20 {
		t.Errorf("%d of 20 calls to what is gone failed", y.failed.Load())
	}
	y.inTime(t, b, core.ErrUnavailable)
	for range 20 {
		a := asking(t, core.SlidingWindow{}, 5, time.Hour)
		if now, ok := ownerOf(t, cl, slotOf(a)); !ok || now == master {
			continue
		}
		var y tally
		for range 8 {
			y.take(b, a)
		}
		if y.admitted.Load() != 5 || y.refused.Load() != 3 {
			t.Errorf("elsewhere %d admitted and %d refused of 8, the limit is 5: %v", y.admitted.Load(), y.refused.Load(), y.errs)
		}
	}
	for _, s := range b.Breakers() {
		if s.Addr != master.Addr() && s.Changes > 0 {
			t.Errorf("the breaker of another node changed: %+v", s)
		}
	}
}

// All cells of an identity share a slot; identities spread over the slots.
func TestFault_B6(t *testing.T) {
	var perPart [64]int
	const identities = 10_000
	for i := range identities {
		key := core.NewKey("k", strconv.Itoa(i))
		slots := map[uint64]bool{}
		for _, strategy := range five {
			a := asking(t, strategy, 1+rand.Int64N(100), time.Duration(1+rand.IntN(100))*time.Second)
			a.Cell.Key = key
			slots[slotOf(a)] = true
			for _, explicit := range []bool{false, true} {
				name, _ := cellName(&a.Cell, explicit)
				_, tag, _ := strings.Cut(name, "{")
				tag, _, _ = strings.Cut(tag, "}")
				slots[clusterSlot([]byte(tag))] = true
			}
		}
		if len(slots) != 1 {
			t.Fatalf("an identity's cells are in %d slots", len(slots))
		}
		for slot := range slots {
			perPart[slot*uint64(len(perPart))/clusterSlots]++
		}
	}
	for _, n := range perPart {
		if mean := identities / len(perPart); n*2 > mean*3 {
			t.Errorf("a part of the slots has %d identities, the mean is %d", n, mean)
		}
	}
	s := shared.cluster().Nodes[0]
	for _, tag := range []string{"", "a", "123456789", "AAAAAAAAAAAAAAAAAAAAAA"} {
		if got := s.Do("CLUSTER", "KEYSLOT", tag); got != fmt.Sprint(clusterSlot([]byte(tag))) {
			t.Errorf("the slot of %q is %s", tag, got)
		}
	}
}

// failing lets commands of a kind fail before they are sent.
type failing struct {
	sha atomic.Pointer[string]
	n   atomic.Int64
}

func (f *failing) DialHook(next redis.DialHook) redis.DialHook { return next }
func (f *failing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (f *failing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if sha := f.sha.Load(); sha != nil && len(cmd.Args()) > 1 && fmt.Sprint(cmd.Args()[1]) == *sha {
			f.n.Add(1)
			err := &net.OpError{Op: "read", Err: errors.New("cut between the phases")}
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

// The second phase of a decision over several slots fails: no limit is exceeded,
// the answer is the refusal, and what stays charged goes with its key.
func TestFault_B6BetweenThePhases(t *testing.T) {
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: shared.cluster().Addrs(), ContextTimeoutEnabled: true, ReadTimeout: time.Minute})
	defer c.Close()
	hook := new(failing)
	c.AddHook(hook)
	b := must(t, c, Options{Timeout: patient})
	for _, strategy := range five {
		full, wide := asking(t, core.GCRA{}, 1, time.Hour), asking(t, strategy, 5, time.Hour)
		for slotOf(wide) == slotOf(full) {
			wide = asking(t, strategy, 5, time.Hour)
		}
		if _, err := take(b, 0, full); err != nil {
			t.Fatal(err)
		}
		hook.sha.Store(&settling[0].sha)
		for i := range 8 {
			out := make([]core.Verdict, 2)
			_, err := b.Take(background(), 0, []core.Ask{full, wide}, out)
			if err != nil || out[0].OK || out[0].Charged {
				t.Fatalf("%s: %+v, %v", strategy.Name(), out, err)
			}
			if out[1].Charged != (i < 5) {
				t.Errorf("%s: round %d says charged %v of what could not be given back", strategy.Name(), i, out[1].Charged)
			}
		}
		hook.sha.Store(nil)
		if n := units(t, b, wide); n != 5 {
			t.Errorf("%s: %d units used, the limit is 5", strategy.Name(), n)
		}
		// With the second phase at work again, a refusal leaves nothing.
		other := wide
		for other.Cell.Key = core.NewKey("k", strconv.FormatInt(fresh.Add(1), 10)); slotOf(other) == slotOf(full); {
			other.Cell.Key = core.NewKey("k", strconv.FormatInt(fresh.Add(1), 10))
		}
		if _, err := b.Take(background(), 0, []core.Ask{other, full}, make([]core.Verdict, 2)); err != nil {
			t.Fatal(err)
		}
		if n := units(t, b, other); n != 0 {
			t.Errorf("%s: a refusal left %d units", strategy.Name(), n)
		}
	}
	if hook.n.Load() == 0 {
		t.Error("nothing was cut")
	}
	// That no key stays for ever is looked at when all tests are over.
}

// A shard of a Ring flaps: its keys begin anew elsewhere and come back.
func TestFault_B7(t *testing.T) {
	all := []*servers.Server{single(t), single(t)}
	c := redis.NewRing(&redis.RingOptions{
		Addrs:                 map[string]string{"a": all[0].Addr(), "b": all[1].Addr()},
		ContextTimeoutEnabled: true, HeartbeatFrequency: 50 * time.Millisecond, ReadTimeout: 100 * time.Millisecond,
	})
	defer c.Close()
	b := must(t, c, Options{})
	const n = 50
	a := asking(t, core.FixedWindow{}, n, time.Hour)
	var y tally
	for range 2 * n {
		y.take(b, a)
	}
	if y.admitted.Load() != n {
		t.Fatalf("%d admitted", y.admitted.Load())
	}
	home := all[0]
	if all[1].Do("EXISTS", nameOf(a)) == "1" {
		home = all[1]
	}
	home.Freeze()
	before := y.refused.Load()
	eventually(t, func() bool { y.take(b, a); return y.admitted.Load() == 2*n && y.refused.Load() > before })
	home.Thaw()
	eventually(t, func() bool { return c.Len() == 2 })
	for range 2 * n {
		y.take(b, a)
	}
	if got := y.admitted.Load(); got != 2*n {
		t.Errorf("%d admitted over one flap, the limit is %d", got, n)
	}
	y.inTime(t, b, core.ErrUnavailable)
}

// Clients that read from replicas decide at masters all the same.
func TestFault_B8(t *testing.T) {
	b := ofCluster(t, shared.cluster(), patient, true)
	for _, strategy := range five {
		const n = 100
		a := asking(t, strategy, n, 24*time.Hour)
		var y tally
		var left atomic.Int64
		left.Store(3 * n)
		crowd(8, func() bool { y.take(b, a); return left.Add(-1) > 0 })
		if y.admitted.Load() != n {
			t.Errorf("%s: %d admitted, the limit is %d: %v", strategy.Name(), y.admitted.Load(), n, y.errs)
		}
	}
}

// One hot key, and rules that Lua does not know: no errors, nothing lost.
func TestFault_B9(t *testing.T) {
	b := on(t, shared.single())
	for _, strategy := range five {
		for _, known := range []bool{true, false} {
			const n = 100
			a := asking(t, strategy, n, 24*time.Hour)
			if !known {
				a.Rule = stranger{a.Rule}
			}
			var y tally
			var left atomic.Int64
			left.Store(3 * n)
			crowd(64, func() bool { y.take(b, a); return left.Add(-1) > 0 })
			if y.admitted.Load() != n || y.failed.Load() > 0 {
				t.Errorf("%s, known %v: %d admitted, the limit is %d: %v", strategy.Name(), known, y.admitted.Load(), n, y.errs)
			}
		}
	}
}

// A stranger is a rule without a Program.
type stranger struct{ core.Rule }
