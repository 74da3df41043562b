// Command remote measures layers C and D on a server of its own: decisions a
// second and latency at several numbers of callers, in rounds that run every row
// once in a new order.
//
//	remote              throughput and latency over Redis
//	remote -memcached   the same over memcached
//	remote -traffic     what one decision sends to Redis, and what Redis does for it
//	remote -scripts     the scripts alone, pipelined by redis-benchmark
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/stint-go/stint/bench"
	"github.com/stint-go/stint/internal/servers"
)

var (
	rounds  = flag.Int("rounds", 5, "interleaved rounds")
	dur     = flag.Duration("dur", 150*time.Millisecond, "time per measurement")
	only    = flag.String("only", ".", "regexp of the peers")
	traffic = flag.Bool("traffic", false, "count commands and bytes per decision instead")
	scripts = flag.Bool("scripts", false, "run the scripts through redis-benchmark instead")
	second  = flag.Bool("memcached", false, "measure layer D, over memcached")
)

// A system is a peer at work, once with a quota that admits all and once with
// one that is used up.
type system struct {
	Name, Compared string
	open, shut     bench.RemoteDecider
	recorder       *bench.Recorder
}

func main() {
	flag.Parse()
	p, err := servers.Shared()
	if err != nil {
		log.Fatal(err)
	}
	if *second {
		err = runMemcached(servers.Memcached(p, "-c", "4096"), servers.Memcached(p, "-c", "4096"))
	} else {
		err = runRedis(servers.Redis(p))
	}
	if closed := p.Close(err != nil); err == nil {
		err = closed
	}
	if err != nil {
		log.Fatal(err)
	}
}

func runRedis(s *servers.Server) error {
	systems, err := build(s.Addr(), regexp.MustCompile(*only))
	if err != nil {
		return err
	}
	if *traffic {
		return countAll(s, systems)
	}
	if *scripts {
		return benchmarkScripts(s, systems)
	}
	return measureAll("Redis", systems)
}

func build(addr string, only *regexp.Regexp) (systems []*system, err error) {
	for _, p := range bench.RedisPeers {
		if !only.MatchString(p.Name) {
			continue
		}
		y := &system{Name: p.Name, Compared: p.Compared, recorder: new(bench.Recorder)}
		o := &redis.Options{Addr: addr}
		if *scripts {
			o.Dialer = y.recorder.Dial
		}
		y.open, err = p.New(redis.NewClient(o), plenty)
		if err == nil {
			denied := redis.NewClient(&redis.Options{Addr: addr, DB: 1})
			y.shut, err = p.New(denied, bench.Shut)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		systems = append(systems, y)
	}
	return systems, nil
}

// plenty is a quota that admits whatever is asked for here.
var plenty = bench.Quota{N: 10_000_000, Per: time.Minute}

// runMemcached measures layer D. Used-up quotas have a server of their own.
func runMemcached(open, shut *servers.Server) error {
	var systems []*system
	filter := regexp.MustCompile(*only)
	for _, p := range bench.MemcachedPeers {
		if !filter.MatchString(p.Name) {
			continue
		}
		y := &system{Name: p.Name, Compared: p.Compared}
		var err error
		if y.open, err = p.New(open.Addr(), plenty); err == nil {
			y.shut, err = p.New(shut.Addr(), bench.Shut)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		systems = append(systems, y)
	}
	return measureAll("Memcached", systems)
}

// loads are what is measured: callers, and whether their one key is refused.
var loads = []struct {
	name    string
	callers int
	denied  bool
}{{"c001", 1, false}, {"c016", 16, false}, {"c064", 64, false}, {"c256", 256, false}, {"denied064", 64, true}}

func measureAll(layer string, systems []*system) error {
	for round := range *rounds {
		for _, l := range loads {
			rates, hists := map[string]float64{}, map[string]*bench.Hist{}
			for _, i := range rand.Perm(len(systems)) {
				y := systems[i]
				keys, d := bench.Keys, y.open
				if l.denied {
					keys, d = keys[:1], y.shut
				}
				if _, _, err := measure(d, keys, l.callers, *dur/5); err != nil {
					return fmt.Errorf("%s: %w", y.Name, err)
				}
				h, took, err := measure(d, keys, l.callers, *dur)
				if err != nil {
					return fmt.Errorf("%s: %w", y.Name, err)
				}
				rates[y.Name], hists[y.Name] = float64(h.Count())/took.Seconds(), h
			}
			for _, y := range systems {
				h := hists[y.Name]
				fmt.Printf("Benchmark%s/peer=%s/load=%s %d %.0f decisions/s %.1f p50-us %.1f p99-us", layer, y.Name, l.name, h.Count(),
					rates[y.Name], float64(h.Quantile(.5))/1e3, float64(h.Quantile(.99))/1e3)
				if base := rates[y.Compared]; base > 0 {
					fmt.Printf(" %.3f of-compared", rates[y.Name]/base)
				}
				fmt.Println()
			}
		}
		log.Printf("round %d of %d", round+1, *rounds)
	}
	return nil
}

var background = context.Background()
