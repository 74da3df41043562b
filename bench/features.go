package bench

import (
	"context"
	"encoding/binary"
	"net/http"
	"net/netip"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// A Feature is a row of what a request costs that uses one more thing: its Name,
// and New, which makes what handles one, all through net/http but for the Waiter.
type Feature struct {
	Name string // as go test shows it
	New  func() func()
}

// Features are the rows. The first is the plain policy that each of the others adds to.
var Features = []Feature{
	{"plain", feature(core.Config{}, nil, nil)},
	{"ban", feature(core.Config{}, func(p *core.Policy) { p.Ban = ban(false) }, nil)},
	{"countif, counts", feature(core.Config{}, func(p *core.Policy) { p.CountIf = core.OnStatus(200) }, nil)},
	{"countif, given back", feature(core.Config{}, func(p *core.Policy) { p.CountIf = core.OnStatus(401) }, nil)},
	{"ban of failures", feature(core.Config{}, func(p *core.Policy) { p.CountIf, p.Ban = core.OnStatus(401), ban(true) }, nil)},
	{"reserve, commit", feature(core.Config{}, func(p *core.Policy) { p.Reserve, p.Cost = true, 2 }, commit)},
	{"in flight", feature(core.Config{}, func(p *core.Policy) {
		p.Rates, p.Strategy = core.Rates{{Limit: 100, Window: time.Minute}}, core.InFlight{}
	}, nil)},
	{"candidate", feature(core.Config{}, func(p *core.Policy) { p.Candidate = &core.Candidate{Rate: "1000000000/h"} }, nil)},
	{"lists of 100,000", feature(core.Config{AllowList: listed(10), DenyList: listed(11)}, nil, nil)},
	{"observer", feature(core.Config{Observer: deaf{}}, nil, nil)},
	{"log observer", feature(core.Config{Observer: core.NewLogObserver(nil)}, nil, nil)},
	{"allow", allowed},
	{"waiter", waiter},
}

func ban(failures bool) *core.Ban {
	return &core.Ban{After: 100, Within: time.Minute, For: time.Hour, Failures: failures}
}

func commit(_ http.ResponseWriter, r *http.Request) {
	must(0, httplimit.Reservation(r).Commit(r.Context(), 1))
}

type deaf struct{}

// Observe implements core.Observer.
func (deaf) Observe(core.Event) {}

// listed holds 100,000 networks of 64 addresses, beginning at that of one byte.
func listed(first byte) *core.List {
	var e core.Entries
	for i := range uint32(100_000) {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], uint32(first)<<24+i<<7)
		e.Prefixes = append(e.Prefixes, netip.PrefixFrom(netip.AddrFrom4(a), 26))
	}
	l := new(core.List)
	must(0, l.Replace(e))
	return l
}

// feature sends requests of many clients through a Limiter of one policy.
func feature(c core.Config, change func(*core.Policy), handler http.HandlerFunc) func() func() {
	return func() func() {
		rate, s := open(Open, core.GCRA{})
		p := core.Policy{Name: "api", Rates: core.Rates{rate}, Strategy: s}
		if change != nil {
			change(&p)
		}
		config := c
		config.Backend, config.Policies = memory.New(), []core.Policy{p}
		if handler == nil {
			handler = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }
		}
		send, i := clientFor(httplimit.New(must(core.New(config)))(handler))(), 0
		return func() { send(i % IPs); i++ }
	}
}

// allowed asks by Limiter.Allow, beside the Waiter.
func allowed() func() {
	l, key := stint(Open, core.GCRA{}), core.NewKey("host", "a.example")
	return func() { must(l.Allow(context.Background(), "api", key, 1)) }
}

// waiter takes turns that are always free.
func waiter() func() {
	w, key := must(stint(Open, core.GCRA{}).Waiter("api")), core.NewKey("host", "a.example")
	return func() { must(0, w.Wait(context.Background(), key, 1)) }
}
