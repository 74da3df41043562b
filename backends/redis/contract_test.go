package redislimit

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/core/backendtest"
)

func contract(t *testing.T, o backendtest.Options, b *Backend) {
	t.Helper()
	o.Slow = !long()
	o.Run(t, func(*testing.T) core.Backend { return b })
}

func TestContractOnOneServer(t *testing.T) {
	contract(t, backendtest.Options{}, on(t, shared.single()))
}

// The general program does all that programs of plans do.
func TestContractOfTheGeneralProgram(t *testing.T) {
	b := on(t, shared.single())
	b.plans.most = 0
	contract(t, backendtest.Options{}, b)
}

func TestContractOnSentinel(t *testing.T) {
	contract(t, backendtest.Options{}, onSentinel(t, patient))
}

func TestContractOnCluster(t *testing.T) {
	contract(t, backendtest.Options{Provisional: true}, onCluster(t, patient))
}

func TestContractOnRing(t *testing.T) {
	contract(t, backendtest.Options{Provisional: true}, onRing(t, patient))
}

func onSentinel(t testing.TB, timeout time.Duration) *Backend {
	s := shared.sentinel()
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Name, SentinelAddrs: s.Addrs(), PoolSize: 64})
	t.Cleanup(func() { c.Close() })
	return must(t, c, Options{Timeout: timeout})
}

func onCluster(t testing.TB, timeout time.Duration) *Backend {
	c := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: shared.cluster().Addrs(), ContextTimeoutEnabled: true, PoolSize: 64, ReadTimeout: time.Minute,
	})
	t.Cleanup(func() { c.Close() })
	return must(t, c, Options{Timeout: timeout})
}

func onRing(t testing.TB, timeout time.Duration) *Backend {
	o := &redis.RingOptions{Addrs: map[string]string{}, ContextTimeoutEnabled: true, PoolSize: 64, ReadTimeout: time.Minute}
	for _, s := range shared.ring() {
		o.Addrs["shard "+s.Port()] = s.Addr()
	}
	c := redis.NewRing(o)
	t.Cleanup(func() { c.Close() })
	return must(t, c, Options{Timeout: timeout})
}
