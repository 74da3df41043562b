package bench

import (
	"testing"

	"github.com/stint-go/stint/internal/servers"
)

// TestMemcachedPeersCount: each row that limits admits as many as its quota.
func TestMemcachedPeersCount(t *testing.T) {
	for _, p := range MemcachedPeers {
		t.Run(p.Name, func(t *testing.T) {
			allow, err := p.New(servers.Memcached(t).Addr(), Shut)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				ok, err := allow(t.Context(), "10.0.0.1")
				if want := i == 0 || p.Name == "raw-get-cas"; ok != want || err != nil { // that has no limit
					t.Errorf("request %d of a limit of one: %v, %v", i+1, ok, err)
				}
			}
		})
	}
}
