package memcachedlimit

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/faultproxy"
	"github.com/stint-go/stint/internal/servers"
)

// Something foreign under our key is an error that names it, for that ask; its
// decision is refused, it stays as it is, and others go on.
func TestFault_C8(t *testing.T) {
	s := shared.single()
	b := on(t, s)
	const at = 1_700_000_000_000_000
	foreign := func(strategy core.Strategy, values ...string) {
		t.Helper()
		for _, value := range values {
			a := asking(t, strategy, 5, time.Hour)
			key := itemOf(t, b, at, a)
			s.Tell(fmt.Sprintf("set %s 0 3600 %d\r\n%s", key, len(value), value))
			beside, free := asking(t, strategy, 5, time.Hour), asking(t, core.FixedWindow{}, 5, time.Hour)
			free.Group = 1
			for _, asks := range [][]core.Ask{{a}, {beside, a, free}} {
				out := make([]core.Verdict, len(asks))
				_, err := b.Take(t.Context(), at, asks, out)
				for i := range asks {
					switch {
					case len(asks) == 1:
					case asks[i].Cell.Key == a.Cell.Key:
						err = out[i].Err
					case out[i].Err != nil || out[i].Charged != (asks[i].Group == 1):
						t.Errorf("%T, %q: beside it: %+v", strategy, value, out[i])
					}
				}
				if !errors.Is(err, core.ErrProtocol) || !strings.Contains(fmt.Sprint(err), cellOf(key)) {
					t.Errorf("%T, %q: error %v", strategy, value, err)
				}
			}
			if got := s.Tell("get " + key); len(got) != 2 || strings.TrimRight(got[1], " ") != strings.TrimRight(value, " ") {
				t.Errorf("%T, %q has become %q", strategy, value, got)
			}
		}
	}
	for _, strategy := range counted {
		foreign(strategy, "abc", "-1", "1.5", "0x10", "1a", "18446744073709551615", "9223372036854775808", "9007199254740992", strings.Repeat("9", 40))
	}
	for _, strategy := range swapped {
		foreign(strategy, "abc", "-1 0", "1", "1 2 3", "1 2 3 4 5", "1  2", "9007199254740992 1", " ")
	}
	foreign(core.MovingWindow{}, "5 1 5 1", "5 1 4 1", "5 0")
	foreign(core.GCRA{}, "1 2")
}

// What the server says is no memcached.
func TestGarbageReplies(t *testing.T) {
	p := faultproxy.New(t, shared.single().Addr())
	b := dialling(t, patient, p.Addr())
	for reply, kind := range map[string]error{
		"\n":                                  core.ErrProtocol,
		"\r\n":                                core.ErrProtocol,
		"hello\r\n":                           core.ErrProtocol,
		"CLIENT_ERROR\r\n":                    core.ErrProtocol,
		"CLIENT_ERROR \n":                     core.ErrProtocol,
		"VALUE \r\n":                          core.ErrProtocol,
		"HTTP/1.1 400 Bad Request\r\n":        core.ErrProtocol,
		"ERROR\r\n":                           ErrConfig,
		"ERROR Too many open connections\r\n": ErrConfig,
		"CLIENT_ERROR unauthenticated\r\n":    ErrConfig,
		"SERVER_ERROR out of memory storing object\r\n": ErrOutOfMemory,
		"SERVER_ERROR object too large for cache\r\n":   ErrOutOfMemory,
		"SERVER_ERROR temporary failure\r\n":            core.ErrUnavailable,
	} {
		for _, strategy := range all {
			a := asking(t, strategy, 5, time.Hour)
			for _, asks := range [][]core.Ask{{a}, {a, asking(t, strategy, 5, 2*time.Hour)}} {
				p.Set(faultproxy.Mode{Corrupt: func([]byte) []byte { return []byte(reply) }})
				_, err := b.Take(t.Context(), 0, asks, make([]core.Verdict, len(asks)))
				if !errors.Is(err, kind) || core.ClassOf(err) != core.ClassOf(kind) {
					t.Errorf("%T, %q: class %v, %v", strategy, reply, core.ClassOf(err), err)
				}
				p.Set(faultproxy.Mode{})
				p.Cut()
			}
			if _, err := take(b, 0, asking(t, strategy, 5, time.Hour)); err != nil {
				t.Errorf("%T, after %q: %v", strategy, reply, err)
			}
		}
	}
}

// Real refusals of a real server: no room, and too many clients.
func TestServerRefuses(t *testing.T) {
	s := servers.Memcached(t, "-m", "1", "-I", "512k", "-M")
	flood := memcache.New(s.Addr())
	defer flood.Close()
	for size := 1; size < 400; size += 20 { // every class of sizes that a cell may be of
		for i := 0; ; i++ {
			if flood.Set(&memcache.Item{Key: fmt.Sprintf("flood-%d-%d", size, i), Value: make([]byte, size), Expiration: 600}) != nil {
				break
			}
			if i > 1_000_000 {
				t.Fatal("the server is never full")
			}
		}
	}
	b := on(t, s)
	for _, strategy := range all {
		a := asking(t, strategy, 5, time.Hour)
		for range 3 {
			if _, err := take(b, 0, a); !errors.Is(err, ErrOutOfMemory) {
				t.Errorf("%T: %v", strategy, err)
			}
		}
	}

	few := servers.Memcached(t, "-c", "50", "-o", "maxconns_fast")
	busy := on(t, few)
	var wg sync.WaitGroup
	var refused atomic.Int64
	a := asking(t, core.FixedWindow{}, 1000, time.Hour)
	for range 100 {
		l := busy.lanes.enter(t.Context())
		wg.Go(func() { // each on a connection that stays open
			k := &call{b: busy, lane: l}
			k.begin()
			cells, err := cellsOf([]core.Ask{a}, false)
			if err != nil {
				t.Error(err)
				return
			}
			if k.look(&cells[0]); cells[0].err != nil {
				refused.Add(1)
				if !errors.Is(cells[0].err, core.ErrUnavailable) {
					t.Error(cells[0].err)
				}
			}
		})
		defer busy.lanes.leave(l)
	}
	wg.Wait()
	if refused.Load() == 0 {
		t.Error("the server refused nobody")
	}
}
