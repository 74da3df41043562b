package bench

import (
	"sync"

	"golang.org/x/time/rate"
)

// x/time/rate has no store; a sync.Map by key is what people write by hand.
func init() {
	MemoryPeers = append(MemoryPeers, MemoryPeer{"xtime-syncmap", func(q Quota) Decider {
		var m sync.Map
		return DeciderFunc(func(k string) bool {
			v, ok := m.Load(k)
			if !ok {
				v, _ = m.LoadOrStore(k, rate.NewLimiter(rate.Limit(q.PerSecond()), q.N))
			}
			return v.(*rate.Limiter).Allow()
		})
	}})
}
