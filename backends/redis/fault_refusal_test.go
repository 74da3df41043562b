package redislimit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/faultproxy"
	"github.com/stint-go/stint/internal/servers"
)

// Another script occupies the server. It is never killed.
func TestFault_A7(t *testing.T) {
	s := single(t, "--busy-reply-threshold", "50")
	b := must(t, plainClient(t, s.Addr()), Options{Timeout: 500 * time.Millisecond})
	a := asking(t, core.GCRA{}, 100, time.Minute)
	if _, err := take(b, 0, a); err != nil {
		t.Fatal(err)
	}
	done := make(chan string)
	go func() {
		done <- s.Do("EVAL", "local t = redis.call('TIME') local e = t[1] * 1000 + t[2] / 1000 + 700 "+
			"repeat t = redis.call('TIME') until t[1] * 1000 + t[2] / 1000 > e return 'finished'", "0")
	}()
	eventually(t, func() bool {
		_, err := take(b, 0, a)
		if err != nil && !errors.Is(err, ErrBusy) {
			t.Errorf("error %v", err)
		}
		return err != nil
	})
	if got := <-done; got != "finished" {
		t.Errorf("the other script ended with %q", got)
	}
	recovers(t, b, time.Second)
}

// The server is out of memory and evicts nothing: nothing is written in part.
func TestFault_A8(t *testing.T) {
	s := single(t)
	b := on(t, s)
	var asks []core.Ask
	for _, strategy := range five {
		asks = append(asks, asking(t, strategy, 10, time.Hour))
	}
	used := asking(t, core.FixedWindow{}, 10, time.Hour)
	if _, err := take(b, 0, used); err != nil {
		t.Fatal(err)
	}
	s.Do("CONFIG", "SET", "maxmemory", "1")
	for i := range asks {
		if _, err := take(b, 0, asks[i]); !errors.Is(err, ErrOutOfMemory) {
			t.Errorf("%s: error %v", asks[i].Rule.Shape(), err)
		}
	}
	if _, err := b.Take(background(), 0, asks, make([]core.Verdict, len(asks))); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("all at once: error %v", err)
	}
	if err := b.Settle(background(), 0, asks[:1], make([]core.Receipt, 1), []int64{1}); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("settle: error %v", err)
	}
	if n := s.Do("DBSIZE"); n != "1" {
		t.Errorf("%s keys were left", n)
	}
	s.Do("CONFIG", "SET", "maxmemory", "0")
	recovers(t, b, time.Second, asks...)
	clean(t, s)
}

// The server evicts keys: no error, and the limit begins again, as documented.
// Whoever asks is warned, and told how many. The policies that evict only keys
// that expire are no better: all of ours do.
func TestFault_A9(t *testing.T) {
	for _, policy := range []string{"allkeys-lru", "volatile-lru"} {
		t.Run(policy, func(t *testing.T) { evicting(t, policy) })
	}
	for _, args := range [][]string{nil, {"--maxmemory", "100mb"}, {"--maxmemory-policy", "allkeys-lru"}} {
		b := on(t, single(t, args...))
		memory, err := b.Memory(background())
		if err != nil || len(memory) != 1 || memory[0].Warning() != "" {
			t.Errorf("%v: %+v, %v", args, memory, err)
		}
	}
}

func evicting(t *testing.T, policy string) {
	s := single(t, "--maxmemory", "3mb", "--maxmemory-policy", policy)
	b := on(t, s)
	if memory, err := b.Memory(background()); err != nil || memory[0].Evicted != 0 || memory[0].Warning() == "" {
		t.Errorf("%+v, %v", memory, err)
	}
	a := asking(t, core.FixedWindow{}, 3, time.Hour)
	for range 3 {
		if v, err := take(b, 0, a); err != nil || !v.OK {
			t.Fatal(v, err)
		}
	}
	for i := 0; s.Do("EXISTS", nameOf(a)) == "1"; i++ {
		if i > 100_000 {
			t.Fatal("nothing evicts it")
		}
		s.Do("SET", fmt.Sprint("other:", i), strings.Repeat("x", 10_000), "EX", "60")
	}
	v, err := take(b, 0, a)
	if err != nil || !v.OK || v.Remaining != 2 {
		t.Errorf("after its eviction a cell answers %+v, %v", v, err)
	}
	memory, err := b.Memory(background())
	if err != nil || len(memory) != 1 {
		t.Fatalf("%+v, %v", memory, err)
	}
	m := memory[0]
	if m.Addr != s.Addr() || m.Max != 3<<20 || m.Policy != policy || m.Evicted == 0 {
		t.Errorf("%+v", m)
	}
	if w := m.Warning(); !strings.Contains(w, policy) || !strings.Contains(w, s.Addr()) {
		t.Errorf("warning %q", w)
	}
}

// The server refuses the client: too many connections, passwords, permissions.
func TestFault_A10(t *testing.T) {
	const secret = "correct-horse-battery"
	for name, fault := range map[string]struct {
		args    []string
		before  func(s *servers.Server)
		options redis.Options
	}{
		"no password": {args: []string{"--requirepass", secret}},
		"wrong password": {
			args:    []string{"--requirepass", "another"},
			options: redis.Options{Password: secret},
		},
		"no permission for scripts": {
			before: func(s *servers.Server) {
				s.Do("ACL", "SETUSER", "web", "on", ">"+secret, "~*", "+@all", "-evalsha", "-eval")
			},
			options: redis.Options{Username: "web", Password: secret},
		},
		"no permission for the keys": {
			before:  func(s *servers.Server) { s.Do("ACL", "SETUSER", "web", "on", ">"+secret, "~other:*", "+@all") },
			options: redis.Options{Username: "web", Password: secret},
		},
		"no permission within the script": {
			before: func(s *servers.Server) {
				s.Do("ACL", "SETUSER", "web", "on", ">"+secret, "~*", "+@all", "-pexpire", "-set")
			},
			options: redis.Options{Username: "web", Password: secret},
		},
		"commands that were taken away": {args: []string{"--rename-command", "SET", "", "--rename-command", "PEXPIRE", ""}},
		"too many clients":              {before: func(s *servers.Server) { s.Do("CONFIG", "SET", "maxclients", "1") }},
	} {
		t.Run(name, func(t *testing.T) {
			var s *servers.Server
			if name == "no password" || name == "wrong password" {
				s = servers.RedisUnready(t, fault.args...)
			} else {
				s = single(t, fault.args...)
			}
			if fault.before != nil {
				fault.before(s)
			}
			hold := redis.NewClient(&redis.Options{Addr: s.Addr()})
			defer hold.Close()
			if name == "too many clients" { // the one that there may be
				conn := hold.Conn()
				defer conn.Close()
				if err := conn.Ping(background()).Err(); err != nil {
					t.Fatal(err)
				}
			}
			fault.options.Addr = s.Addr()
			b := over(t, &fault.options)
			for _, strategy := range five {
				_, err := take(b, 0, asking(t, strategy, 10, time.Minute))
				kind := ErrConfig
				if name == "too many clients" {
					kind = core.ErrUnavailable // the server may hang up before its reply is read
				}
				if !errors.Is(err, kind) {
					t.Errorf("%s: error %v", strategy.Name(), err)
				} else if strings.Contains(err.Error(), secret) {
					t.Errorf("the password is in the error: %v", err)
				}
			}
		})
	}
}

// The server can not save its data, and by default takes no writes then.
func TestFault_A11Misconf(t *testing.T) {
	s := single(t, "--save", "3600 1")
	b := on(t, s)
	used := asking(t, core.FixedWindow{}, 10, 24*time.Hour)
	if _, err := take(b, 0, used); err != nil {
		t.Fatal(err)
	}
	_, dir, _ := strings.Cut(s.Do("CONFIG", "GET", "dir"), "\n")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s.Do("BGSAVE")
	eventually(t, func() bool { return strings.Contains(s.Do("INFO", "persistence"), "rdb_last_bgsave_status:err") })
	for _, strategy := range five {
		if _, err := take(b, 0, asking(t, strategy, 10, time.Minute)); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: error %v", strategy.Name(), err)
		}
	}
	if n := s.Do("DBSIZE"); n != "1" {
		t.Errorf("%s keys", n)
	}
	s.Do("CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
	recovers(t, b, time.Second, used)
}

// The server does not take writes for a while.
func TestFault_A11(t *testing.T) {
	s := single(t)
	b := must(t, plainClient(t, s.Addr()), Options{})
	for name, commands := range map[string][]string{
		"READONLY":   {"replica-serve-stale-data", "yes"},
		"MASTERDOWN": {"replica-serve-stale-data", "no"},
	} {
		a := asking(t, core.SlidingWindow{}, 1_000_000, time.Hour)
		s.Do("CONFIG", "SET", commands[0], commands[1])
		var y tally
		y.take(b, a)
		s.Do("REPLICAOF", "127.0.0.1", "1")
		var left atomic.Int64
		left.Store(50)
		crowd(5, func() bool { y.take(b, a); return left.Add(-1) > 0 })
		if y.failed.Load() < 50 {
			t.Errorf("%s: only %d calls failed", name, y.failed.Load())
		}
		for _, err := range y.errs {
			if errors.Is(err, ErrReadOnly) != strings.Contains(err.Error(), name) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		y.inTime(t, b, core.ErrUnavailable)
		s.Do("REPLICAOF", "NO", "ONE")
		recovers(t, b, time.Second)
		if got := units(t, b, a); got != y.admitted.Load() {
			t.Errorf("%s: %d units, %d admitted", name, got, y.admitted.Load())
		}
	}
}

// The server is loading its data: an error of that name, and decisions as soon as
// it has.
func TestFault_A11Loading(t *testing.T) {
	// Slow enough to be met: a pause of 2 ms after each key, and then a look around.
	s := single(t, "--key-load-delay", "2000", "--rdbcompression", "no", "--loading-process-events-interval-bytes", "1024")
	b := must(t, plainClient(t, s.Addr()), Options{})
	a := asking(t, core.FixedWindow{}, 10, 24*time.Hour)
	if _, err := take(b, 0, a); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		s.Do("SET", fmt.Sprint("other:", i), strings.Repeat("x", 1024), "EX", "3600")
	}
	s.Do("SAVE")
	s.Kill()
	s.Start()
	var y tally
	eventually(t, func() bool {
		_, err := y.take(b, a)
		if err != nil && errors.Is(err, ErrReadOnly) != strings.Contains(err.Error(), "LOADING") {
			t.Errorf("error %v", err)
		}
		return errors.Is(err, ErrReadOnly)
	})
	y.inTime(t, b, core.ErrUnavailable)
	s.WaitReady()
	recovers(t, b, time.Second, a)
	if n := units(t, b, a); n != 2 {
		t.Errorf("%d units, one was charged before and one after", n)
	}
}

// The pool is exhausted: waiting for a connection counts.
func TestFault_A12(t *testing.T) {
	s := single(t)
	p := faultproxy.New(t, s.Addr())
	c := redis.NewClient(&redis.Options{Addr: p.Addr(), PoolSize: 2})
	defer c.Close()
	b := must(t, c, Options{})
	next := identities(t, 100)
	crowd(2, func() bool { _, _ = take(b, 0, next()); return false })
	p.Set(faultproxy.Mode{Delay: 30 * time.Millisecond})
	var y tally
	still := during(time.Second)
	crowd(200, func() bool { y.pace(b, next()); return still() })
	full := 0
	for _, err := range y.errs {
		if errors.Is(err, ErrPool) {
			full++
		}
	}
	if full == 0 {
		t.Errorf("no error tells that the pool is full: %v", y.errs)
	}
	y.inTime(t, b, core.ErrUnavailable)
	p.Set(faultproxy.Mode{})
	recovers(t, b, time.Second)

	// With less delay some decisions are made all the time, breaker or not.
	p.Set(faultproxy.Mode{Delay: 2 * time.Millisecond})
	var z tally
	still = during(time.Second)
	crowd(200, func() bool { z.pace(b, next()); return still() })
	if z.admitted.Load() < 20 {
		t.Errorf("only %d admitted", z.admitted.Load())
	}
	z.inTime(t, b, core.ErrUnavailable)
}

// Idle connections are cut again and again.
func TestFault_A13(t *testing.T) {
	s := single(t)
	b := must(t, plainClient(t, s.Addr()), Options{Timeout: patient})
	a := asking(t, core.BucketedWindow{}, 1_000_000, time.Hour)
	var y tally
	for i := range 2000 {
		if i%50 == 0 {
			s.Do("CLIENT", "KILL", "TYPE", "normal")
		}
		y.take(b, a)
	}
	if y.failed.Load() > 20 {
		t.Errorf("%d of 2000 calls failed", y.failed.Load())
	}
	y.inTime(t, b, core.ErrUnavailable)
	used := units(t, b, a)
	if used < y.admitted.Load() || used > 2000 {
		t.Errorf("%d units used, %d admitted", used, y.admitted.Load())
	}
}

// Replies are corrupt: an error or a decision, never a panic, and the next
// connection works.
func TestFault_A14(t *testing.T) {
	s := single(t)
	p := faultproxy.New(t, s.Addr())
	b := must(t, plainClient(t, p.Addr()), Options{})
	rng := rand.New(rand.NewPCG(1, 2))
	failed := 0
	for _, strategy := range five {
		a := asking(t, strategy, 10, time.Hour)
		for i := range 40 {
			if _, err := take(b, 0, a); err != nil {
				t.Fatalf("before: %v", err)
			}
			at, to := rng.IntN(40), byte(rng.IntN(256))
			p.Set(faultproxy.Mode{Corrupt: func(reply []byte) []byte {
				reply[at%len(reply)] = to
				if i%4 == 0 {
					return reply[:len(reply)-1-at%len(reply)]
				}
				return reply
			}})
			if _, err := take(b, 0, a); err != nil {
				failed++
				if !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrProtocol) {
					t.Errorf("error %v", err)
				}
			}
			p.Set(faultproxy.Mode{})
			p.Cut() // whatever the client still waits for
			recovers(t, b, time.Second)
		}
	}
	if failed < 50 {
		t.Errorf("only %d of 200 corrupt replies were noticed", failed)
	}
}

// Whatever a server answers, it is read or refused.
func FuzzReply(f *testing.F) {
	for _, text := range []string{"", "1700000000000000 3", "9007199254740991 9007199254740991 9007199254740991", "1 2 3 4", "0 0", "-1 5", "1  2"} {
		f.Add(text, int64(1700000000000000), int64(1))
	}
	var rules []core.Rule
	for _, strategy := range five {
		rule, err := strategy.Bind(core.Rate{Limit: 10, Window: time.Minute})
		if err != nil {
			f.Fatal(err)
		}
		rules = append(rules, rule)
	}
	f.Fuzz(func(t *testing.T, text string, now, cost int64) {
		if cost < 0 {
			cost = 0
		}
		for i, rule := range rules {
			ask := core.Ask{Rule: rule, Cost: cost}
			ts := []target{{Ask: &ask, name: "name", step: step{Program: rule.(core.Programmed).Program(), cost: cost, last: true}}}
			for _, element := range []any{text, nil, now, errors.New(text), []any{text}} {
				at, cells, err := parseReply([]any{now, element}, ts)
				if err != nil {
					continue
				}
				if cells[0].err == nil {
					for _, w := range cells[0].state {
						if w < 0 || w > maxWord && i != 3 {
							t.Fatalf("%q became %v", text, cells[0].state)
						}
					}
				}
				out := make([]core.Verdict, 1)
				conclude(at, ts, cells, out)
			}
		}
		_, _, _ = parseReply(text, nil)
	})
}

// Something foreign is at a key: that ask has an error, nothing is changed, and
// other cells go on.
func TestFault_A15(t *testing.T) {
	s := single(t)
	inlined, general := on(t, s), on(t, s)
	general.plans.most = 0
	for _, b := range []*Backend{inlined, general} {
		for i, strategy := range five {
			for _, put := range [][]string{
				{"LPUSH", "one"}, {"SADD", "x"}, {"HSET", "f", "v"}, {"SET", ""}, {"SET", "text"}, {"SET", "1 x"}, {"SET", "1 2 3 4 5"},
				{"SET", "-5 1"}, {"SET", "9007199254740992 1"}, {"RPUSH", "0", "0", "x", "1"}, {"ZADD", "1", "m"},
			} {
				foreign := asking(t, strategy, 10, time.Hour)
				name := nameOf(foreign)
				s.Do(append([]string{put[0], name}, put[1:]...)...)
				before := s.Do("DUMP", name)
				first, last := asking(t, five[(i+1)%5], 10, time.Hour), asking(t, five[(i+2)%5], 10, time.Hour)
				first.When, last.When = core.When(i%3), core.When((i+2)%3) // what is broken is no refusal either
				alone := asking(t, strategy, 10, time.Hour)
				alone.Group = 1
				asks, out := []core.Ask{first, foreign, last, alone}, make([]core.Verdict, 4)
				if _, err := b.Take(background(), 0, asks, out); err != nil {
					t.Fatalf("%s over %v: %v", strategy.Name(), put, err)
				}
				if !errors.Is(out[1].Err, core.ErrProtocol) || !strings.Contains(out[1].Err.Error(), name) {
					t.Errorf("%s over %v: error %v", strategy.Name(), put, out[1].Err)
				}
				if out[0].Charged || out[2].Charged || !out[3].Charged {
					t.Errorf("%s over %v: charged %v %v, the other decision %v", strategy.Name(), put, out[0].Charged, out[2].Charged, out[3].Charged)
				}
				if n := s.Do("EXISTS", nameOf(first), nameOf(last)); n != "0" {
					t.Errorf("%s over %v: %s of the other keys were written", strategy.Name(), put, n)
				}
				if err := b.Settle(background(), 0, []core.Ask{foreign}, make([]core.Receipt, 1), []int64{1}); !errors.Is(err, core.ErrProtocol) {
					t.Errorf("%s over %v: settle: %v", strategy.Name(), put, err)
				}
				if s.Do("DUMP", name) != before {
					t.Errorf("%s over %v: it was changed", strategy.Name(), put)
				}
				s.Do("DEL", name)
			}
		}
	}
	clean(t, s)
}
