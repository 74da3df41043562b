package moving

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// region before

// limiters has one limiter for each address that ever came by.
type limiters struct {
	mu sync.Mutex
	of map[string]*rate.Limiter
}

func (l *limiters) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		l.mu.Lock()
		one := l.of[host]
		if one == nil {
			one = rate.NewLimiter(2, 5) // two per second, at most five at once
			l.of[host] = one
		}
		l.mu.Unlock()
		if !one.Allow() {
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// endregion

func xtimeAfter(t *testing.T) (http.Handler, *memory.Backend) {
	// region after
	backend := memory.New()
	l, err := core.New(core.Config{
		Backend:  backend,
		Policies: []core.Policy{{Name: "pages", Rate: "2/s", Strategy: core.GCRA{Burst: 5}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	handler := httplimit.New(l)(hello)
	// endregion
	return handler, backend
}

func TestXTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := &limiters{of: map[string]*rate.Limiter{}}
		after, _ := xtimeAfter(t)
		for _, h := range []http.Handler{before.limit(hello), after} {
			bob.want(t, h, 20, 5)
			time.Sleep(500 * time.Millisecond)
			bob.want(t, h, 20, 1)
			time.Sleep(time.Second)
			bob.want(t, h, 20, 2)
			eve.want(t, h, 20, 5)
		}
	})
}

// One customer of an IPv6 network fills the map and is never limited.
func TestXTimeMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := &limiters{of: map[string]*rate.Limiter{}}
		theirs := before.limit(hello)
		ours, backend := xtimeAfter(t)
		passed := [2]int{}
		for i := range 1000 {
			c := client{from: fmt.Sprintf("2001:db8::%x", i)}
			passed[0] += c.passes(t, theirs, 1)
			passed[1] += c.passes(t, ours, 1)
		}
		if passed != [2]int{1000, 5} {
			t.Error(passed)
		}
		if n, cells := len(before.of), backend.Stats().Cells; n != 1000 || cells != 1 {
			t.Errorf("%d entries before, %d after", n, cells)
		}
	})
}

func TestXTimeCaps(t *testing.T) {
	// region caps
	backend, err := memory.NewWith(memory.Options{MaxCells: 1000, MaxBytes: 1 << 20})
	// endregion
	if err != nil {
		t.Fatal(err)
	}
	l := makeWith(t, core.Config{Backend: backend, Policies: []core.Policy{{Name: "pages", Rate: "5/m"}}})
	h := httplimit.New(l)(hello)
	for i := range 5000 {
		client{from: fmt.Sprintf("198.18.%d.%d", i>>8, i&255)}.get(h, "/")
	}
	if n := backend.Stats().Cells; n > 1000 {
		t.Errorf("%d cells", n)
	}
}
