package denycache

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// A remote is a backend with a Cache, as a Limiter meets it.
type remote struct {
	core.Backend
	cache *Cache
	taken int
}

func (r *remote) Take(ctx context.Context, at int64, asks []core.Ask, out []core.Verdict) (int64, error) {
	r.taken++
	sent := r.cache.Now()
	now, err := r.Backend.Take(ctx, at, asks, out)
	if err == nil && at == 0 {
		r.cache.Learn(sent, now, asks, out)
	}
	return now, err
}

func (r *remote) Settle(ctx context.Context, at int64, asks []core.Ask, rs []core.Receipt, delta []int64) error {
	err := r.Backend.Settle(ctx, at, asks, rs, delta)
	for i := range asks {
		r.cache.Forget(asks[i].Cell)
	}
	return err
}

func (r *remote) Reset(ctx context.Context, cells ...core.Cell) error {
	err := r.Backend.Reset(ctx, cells...)
	r.cache.Forget(cells...)
	return err
}

func (r *remote) Seeds() *[2]maphash.Seed { return r.cache.Seeds() }
func (r *remote) Refuse(asks []core.Ask) (int, core.Outcome) {
	return r.cache.Refuse(asks)
}
func (r *remote) RefuseOne(s *core.Space, rule core.Rule, key core.Print, cost int64) (core.Outcome, bool) {
	return r.cache.RefuseOne(s, rule, key, cost)
}

// A diary keeps what an Observer is told, but for the decisions themselves.
type diary []string

func (d *diary) Observe(e core.Event) {
	*d = append(*d, fmt.Sprintln(e.Kind, e.Policy, e.Identity(), e.Entry, e.Units, e.Allowed))
}

// Whatever policies a Limiter has, it does the same with a cache and without: it
// decides alike, strikes alike, tells its Observer and its shadows alike.
func TestLimiterDoesTheSameWithACache(t *testing.T) {
	for name, c := range map[string]struct {
		config core.Config
		saves  bool // some decisions need no Take
	}{
		"plain":     {saves: true, config: core.Config{Policies: []core.Policy{{Name: "p", Rate: "3/5s"}}}},
		"observed":  {saves: true, config: core.Config{Observer: new(diary), Policies: []core.Policy{{Name: "p", Rate: "3/5s"}}}},
		"a ban":     {saves: true, config: core.Config{Observer: new(diary), Policies: []core.Policy{banning("p", 4, 3*time.Second)}}},
		"two bans":  {config: core.Config{Policies: []core.Policy{banning("p", 4, 3*time.Second), banning("q", 5, 700*time.Millisecond)}}},
		"candidate": {config: core.Config{Observer: new(diary), Policies: []core.Policy{{Name: "p", Rate: "3/5s", Candidate: &core.Candidate{Rate: "2/5s"}}}}},
		"shadow": {config: core.Config{Observer: new(diary), Policies: []core.Policy{
			{Name: "p", Rate: "3/5s"}, {Name: "s", Rate: "2/5s", Mode: core.Shadow}}}},
		"counted when refused": {config: core.Config{Policies: []core.Policy{{Name: "p", Rate: "3/5s", CountDenied: true}}}},
		"annotating":           {config: core.Config{Policies: []core.Policy{{Name: "p", Rate: "3/5s"}, {Name: "q", Rate: "2/5s", Mode: core.Annotate}}}},
		"reserving":            {config: core.Config{Observer: new(diary), Policies: []core.Policy{{Name: "p", Rate: "3/5s", Reserve: true}}}},
		"in flight":            {config: core.Config{Policies: []core.Policy{{Name: "p", Rate: "2/5s", Strategy: core.InFlight{}}}}},
		"a list":               {saves: true, config: core.Config{DenyList: new(core.List), Policies: []core.Policy{{Name: "p", Rate: "3/5s"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { sameWithACache(t, c.config, c.saves) })
		})
	}
}

func banning(name string, after int64, length time.Duration) core.Policy {
	return core.Policy{Name: name, Rate: "3/5s", Strategy: core.MovingWindow{},
		Ban: &core.Ban{After: after, Within: 10 * time.Second, For: length, Max: 4 * length}}
}

func sameWithACache(t *testing.T, config core.Config, saves bool) {
	config.Phase = func(core.Cell) int64 { return 0 } // the stores have seeds of their own, and no TakeOne
	r := &remote{Backend: memory.New(), cache: New(Settings{})}
	var books [2]diary
	var limiters [2]*core.Limiter
	for i, b := range []core.Backend{memory.New(), r} {
		own := config
		own.Backend = b
		if config.Observer != nil {
			own.Observer = &books[i]
		}
		l, err := core.New(own)
		if err != nil {
			t.Fatal(err)
		}
		limiters[i] = l
	}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	decided := 0
	var held [2][]*core.Reservation
	for range 3000 {
		policy := config.Policies[rng.IntN(len(config.Policies))]
		address := "192.0.2." + strconv.Itoa(1+rng.IntN(2))
		key, cost, what := core.KeyOfPrefix(netip.MustParsePrefix(address+"/32")), 1+rng.Int64N(5)/4, rng.IntN(40)
		_, inFlight := policy.Strategy.(core.InFlight)
		var said [2]string
		for i, l := range limiters {
			var d core.Decision
			var err error
			switch {
			case what == 0:
				err = l.Reset(t.Context(), policy.Name, key)
			case what == 1 && policy.Ban != nil:
				err = l.Ban(t.Context(), policy.Name, key, 2*time.Second)
			case what == 2 && policy.Ban != nil:
				err = l.Unban(t.Context(), policy.Name, key)
			case what == 3:
				d, err = l.Peek(t.Context(), policy.Name, key, cost)
			case what < 12 && len(held[i]) > 0:
				err = held[i][0].Cancel(t.Context())
				held[i] = held[i][1:]
			case policy.Reserve || inFlight:
				var res *core.Reservation
				if d, res, err = l.Reserve(t.Context(), policy.Name, key, cost); res != nil {
					held[i] = append(held[i], res)
				}
			case len(config.Policies) > 1 || what > 30:
				n := httptest.NewRequest("GET", "/", nil)
				n.RemoteAddr = address + ":1"
				d, err = l.AllowRequest(httplimit.Request(n))
				decided += i
			default:
				d, err = l.Allow(t.Context(), policy.Name, key, cost)
				decided += i
			}
			said[i] = fmt.Sprintln(d.Allowed, d.Limited, d.Banned, d.Policy, d.Limit, d.Remaining, d.RetryAfter, err)
		}
		if said[0] != said[1] {
			t.Fatalf("seed %d: without %swith    %s", seed, said[0], said[1])
		}
		if rng.IntN(3) == 0 {
			<-time.After(time.Duration(rng.IntN(900)) * time.Millisecond)
		}
	}
	if !slices.Equal(books[0], books[1]) {
		t.Errorf("seed %d: the observer was told something else", seed)
	}
	for _, p := range config.Policies {
		a, errA := limiters[0].Trial(p.Name)
		b, errB := limiters[1].Trial(p.Name)
		if a != b || (errA == nil) != (errB == nil) {
			t.Errorf("seed %d: trial %+v without, %+v with", seed, a, b)
		}
	}
	if saved := decided > r.taken+decided/10; saved != saves {
		t.Errorf("%d decisions took %d Takes", decided, r.taken)
	}
}
