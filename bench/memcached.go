package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	memcachedlimit "github.com/stint-go/stint/backends/memcached"
	"github.com/stint-go/stint/core"
)

// stintMemcached is this library over memcached. Its time-out is beyond what a
// busy machine takes.
func stintMemcached(s core.Strategy) func(string, Quota) (RemoteDecider, error) {
	return func(addr string, q Quota) (RemoteDecider, error) {
		b, err := memcachedlimit.New([]string{addr}, memcachedlimit.Options{Timeout: 5 * time.Second, MaxIdleConns: 256})
		if err != nil {
			return nil, err
		}
		l, err := core.New(core.Config{Backend: b, Policies: []core.Policy{{Name: "api", Rates: one(q), Strategy: s}}})
		return func(ctx context.Context, k string) (bool, error) {
			d, err := l.Allow(ctx, "api", core.NewKey("ip", k), 1)
			return d.Allowed, err
		}, err
	}
}

// The raw rows are what people write by hand on gomemcache: a counter that lives
// for an hour, or a state that is read and swapped. They count no windows and
// take nothing back.

// raw is a row on a client that keeps as many connections as it is asked by
// callers at once.
func raw(allow func(c *memcache.Client, k string, n uint64) (bool, error)) func(string, Quota) (RemoteDecider, error) {
	return func(addr string, q Quota) (RemoteDecider, error) {
		c := memcache.New(addr)
		c.MaxIdleConns, c.Timeout = 256, 5*time.Second
		return func(_ context.Context, k string) (bool, error) { return allow(c, k, uint64(q.N)) }, nil
	}
}

func rawIncrementAdd(c *memcache.Client, k string, n uint64) (bool, error) {
	k = "raw-increment-add:" + k
	v, err := c.Increment(k, 1)
	if errors.Is(err, memcache.ErrCacheMiss) {
		err = c.Add(&memcache.Item{Key: k, Value: []byte("1"), Expiration: 3600})
		if v = 1; errors.Is(err, memcache.ErrNotStored) {
			v, err = c.Increment(k, 1)
		}
	}
	return v <= n, err
}

func rawAddIncrement(c *memcache.Client, k string, n uint64) (bool, error) {
	k = "raw-add-increment:" + k
	err := c.Add(&memcache.Item{Key: k, Value: []byte("0"), Expiration: 3600})
	if err != nil && !errors.Is(err, memcache.ErrNotStored) {
		return false, err
	}
	v, err := c.Increment(k, 1)
	return v <= n, err
}

// rawGetSwap writes what it has read: the least that a state costs.
func rawGetSwap(c *memcache.Client, k string, _ uint64) (bool, error) {
	k = "raw-get-cas:" + k
	for {
		item, err := c.Get(k)
		switch {
		case errors.Is(err, memcache.ErrCacheMiss):
			err = c.Add(&memcache.Item{Key: k, Value: []byte("1700000000000000"), Expiration: 3600})
		case err != nil:
			return false, err
		default:
			item.Expiration = 3600
			err = c.CompareAndSwap(item)
		}
		if !errors.Is(err, memcache.ErrNotStored) && !errors.Is(err, memcache.ErrCASConflict) {
			return err == nil, err
		}
	}
}

// rawMeta is memcached's meta arithmetic on connections of its own, which
// gomemcache does not speak: a counter that is made where there is none, in one
// round trip.
func rawMeta(addr string, q Quota) (RemoteDecider, error) {
	type conn struct {
		net.Conn
		r *bufio.Reader
	}
	var idle sync.Pool
	return func(_ context.Context, k string) (bool, error) {
		c, _ := idle.Get().(*conn)
		if c == nil {
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				return false, err
			}
			c = &conn{nc, bufio.NewReader(nc)}
		}
		defer idle.Put(c)
		var buf [128]byte
		if _, err := c.Write(fmt.Appendf(buf[:0], "ma raw-meta:%s N3600 J1 v\r\n", k)); err != nil {
			return false, err
		}
		if line, err := c.r.ReadSlice('\n'); err != nil || line[0] != 'V' {
			return false, errors.Join(err, fmt.Errorf("memcached answered %q", line))
		}
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return false, err
		}
		var n int
		for _, digit := range line[:len(line)-2] {
			n = 10*n + int(digit-'0')
		}
		return n <= q.N, nil
	}, nil
}

func init() {
	MemcachedPeers = append(MemcachedPeers,
		MemcachedPeer{"floor-meta", "raw-increment-add", rawMeta},
		MemcachedPeer{"raw-increment-add", "", raw(rawIncrementAdd)},
		MemcachedPeer{"raw-add-increment", "raw-increment-add", raw(rawAddIncrement)},
		MemcachedPeer{"raw-get-cas", "raw-increment-add", raw(rawGetSwap)},
		MemcachedPeer{"stint", "raw-get-cas", stintMemcached(core.GCRA{})},
		MemcachedPeer{"stint-fixed", "raw-increment-add", stintMemcached(core.FixedWindow{})},
		MemcachedPeer{"stint-sliding", "raw-add-increment", stintMemcached(core.SlidingWindow{})},
		MemcachedPeer{"stint-bucketed", "raw-add-increment", stintMemcached(core.BucketedWindow{})},
	)
}
