package bench

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/stint-go/stint/internal/servers"
)

// TestRedisPeersCount: each row that limits admits as many as its quota, so that
// no row is fast because it does nothing.
func TestRedisPeersCount(t *testing.T) {
	s := servers.Redis(t)
	for i, p := range RedisPeers {
		c := redis.NewClient(&redis.Options{Addr: s.Addr(), DB: i})
		defer c.Close()
		allow, err := p.New(c, Quota{N: 20_000, Per: time.Hour})
		if err != nil {
			t.Fatal(p.Name, err)
		}
		allow2, err := p.New(c, Shut)
		if err != nil {
			t.Fatal(p.Name, err)
		}
		if ok, err := allow(t.Context(), "10.0.0.1"); !ok || err != nil {
			t.Errorf("%s: the first of many: %v, %v", p.Name, ok, err)
		}
		if len(p.Name) > 4 && p.Name[:4] == "raw-" && p.Name != "raw-gcra" {
			continue
		}
		var got [2]bool
		for i := range got {
			if got[i], err = allow2(t.Context(), "another"); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
		if got != [2]bool{true, false} {
			t.Errorf("%s: with a limit of one, the first two were admitted: %v", p.Name, got)
		}
	}
}
