package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/stint-go/stint/core"
)

// The raw rows are the same client without a limiter: what Redis itself costs.

// rawGCRA is the smallest correct GCRA on the server's clock: one GET, one SET,
// whole microseconds, one integer as reply.
const rawGCRA = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local tat = tonumber(redis.call('GET', KEYS[1])) or now
if tat < now then tat = now end
tat = tat + tonumber(ARGV[1])
local over = tat - now - tonumber(ARGV[2])
if over > 0 then return -over end
redis.call('SET', KEYS[1], string.format('%.0f', tat), 'PX', math.ceil((tat - now) / 1000))
return 0`

// micros is the emission interval and burst in microseconds, at least 1 each.
func (q Quota) micros() (interval, burst string) {
	us := q.Per.Microseconds()
	return strconv.FormatInt(max(1, us/int64(q.N)), 10), strconv.FormatInt(max(us, int64(q.N)), 10)
}

// A Recorder remembers the EVALSHA that was sent last over its connections.
type Recorder struct {
	mu   sync.Mutex
	line []any
}

// Dial is for redis.Options.Dialer.
func (r *Recorder) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	return recorded{c, r}, err
}

type recorded struct {
	net.Conn
	r *Recorder
}

// Write reads what a client writes: per argument a line with its length, and
// one with itself.
func (c recorded) Write(b []byte) (int, error) {
	if lines := strings.Split(string(b), "\r\n"); len(lines) > 2 && lines[2] == "evalsha" {
		var line []any
		for i := 2; i < len(lines); i += 2 {
			line = append(line, lines[i])
		}
		c.r.mu.Lock()
		c.r.line = line
		c.r.mu.Unlock()
	}
	return c.Conn.Write(b)
}

// Last is that command with its arguments, nil if there was none.
func (r *Recorder) Last() []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.line
}

// replay sends, for each key, the very command that the peer sends for it, with
// nothing around it.
func replay(peer func(*redis.Client, Quota) (RemoteDecider, error)) func(*redis.Client, Quota) (RemoteDecider, error) {
	return func(c *redis.Client, q Quota) (RemoteDecider, error) {
		var recorder Recorder
		watched := redis.NewClient(&redis.Options{Addr: c.Options().Addr, DB: c.Options().DB, Dialer: recorder.Dial})
		allow, err := peer(watched, q)
		if err != nil {
			return nil, err
		}
		lines := map[string][]any{}
		for _, k := range Keys {
			if _, err := allow(context.Background(), k); err != nil {
				return nil, err
			}
			if lines[k] = recorder.Last(); lines[k] == nil {
				return nil, errors.New("the peer sent no EVALSHA")
			}
		}
		return func(ctx context.Context, k string) (bool, error) {
			cmd := redis.NewCmd(ctx, lines[k]...)
			return true, c.Process(ctx, cmd)
		}, watched.Close()
	}
}

// Keys are those that remote peers are asked for.
var Keys = func() (keys []string) {
	for i := range 10_000 {
		keys = append(keys, fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
	}
	return keys
}()

func init() {
	RedisPeers = append(RedisPeers,
		RemotePeer{"raw-ping", "raw-gcra", func(c *redis.Client, _ Quota) (RemoteDecider, error) {
			return func(ctx context.Context, _ string) (bool, error) { return true, c.Ping(ctx).Err() }, nil
		}},
		RemotePeer{"raw-gcra", "", func(c *redis.Client, q Quota) (RemoteDecider, error) {
			interval, burst := q.micros()
			sha, err := c.ScriptLoad(context.Background(), rawGCRA).Result()
			return func(ctx context.Context, k string) (bool, error) {
				n, err := c.EvalSha(ctx, sha, []string{"raw:" + k}, interval, burst).Int64()
				return n >= 0, err
			}, err
		}},
		RemotePeer{"raw-stint", "raw-gcra", replay(stintRedis(core.GCRA{}, one))},
		RemotePeer{"raw-stint-fixed", "raw-gcra", replay(stintRedis(core.FixedWindow{}, one))},
		RemotePeer{"raw-stint-sliding", "raw-gcra", replay(stintRedis(core.SlidingWindow{}, one))},
	)
}
