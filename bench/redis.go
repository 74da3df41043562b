package bench

import (
	"context"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/ulule/limiter/v3"
	sredis "github.com/ulule/limiter/v3/drivers/store/redis"

	redislimit "github.com/stint-go/stint/backends/redis"
	"github.com/stint-go/stint/core"
)

// stintRedis is this library over Redis, under some rates of one policy. Its
// time-out is beyond what a busy machine takes, as the others have none.
func stintRedis(s core.Strategy, rates func(Quota) core.Rates) func(*redis.Client, Quota) (RemoteDecider, error) {
	return func(c *redis.Client, q Quota) (RemoteDecider, error) {
		b, err := redislimit.New(c, redislimit.Options{Timeout: 5 * time.Second})
		if err != nil {
			return nil, err
		}
		l, err := core.New(core.Config{Backend: b, Policies: []core.Policy{{Name: "api", Rates: rates(q), Strategy: s}}})
		return func(ctx context.Context, k string) (bool, error) {
			d, err := l.Allow(ctx, "api", core.NewKey("ip", k), 1)
			return d.Allowed, err
		}, err
	}
}

func one(q Quota) core.Rates { return core.Rates{{Limit: int64(q.N), Window: q.Per}} }

// five are the quota with windows of five lengths.
func five(q Quota) (rates core.Rates) {
	for i := range 5 {
		rates = append(rates, core.Rate{Limit: int64(q.N), Window: q.Per + time.Duration(i)*time.Second})
	}
	return rates
}

func redisRate(rates func(Quota) core.Rates) func(*redis.Client, Quota) (RemoteDecider, error) {
	return func(c *redis.Client, q Quota) (RemoteDecider, error) {
		l := redis_rate.NewLimiter(c)
		var limits []redis_rate.Limit
		for _, r := range rates(q) {
			limits = append(limits, redis_rate.Limit{Rate: int(r.Limit), Burst: int(r.Limit), Period: r.Window})
		}
		return func(ctx context.Context, k string) (bool, error) {
			for i, lim := range limits {
				name := k
				if i > 0 {
					name += lim.Period.String()
				}
				if r, err := l.Allow(ctx, name, lim); err != nil || r.Allowed == 0 {
					return false, err
				}
			}
			return true, nil
		}, nil
	}
}

func ululeRedis(c *redis.Client, q Quota) (RemoteDecider, error) {
	store, err := sredis.NewStore(c)
	if err != nil {
		return nil, err
	}
	l := limiter.New(store, limiter.Rate{Period: q.Per, Limit: int64(q.N)})
	return func(ctx context.Context, k string) (bool, error) {
		r, err := l.Get(ctx, k)
		return !r.Reached, err
	}, nil
}

func throttledRedis(c *redis.Client, q Quota) (RemoteDecider, error) {
	store, err := goredisstore.NewCtx(c, "throttled:")
	if err != nil {
		return nil, err
	}
	l := throttledLimiter(store, q)
	return func(ctx context.Context, k string) (bool, error) {
		limited, _, err := l.RateLimitCtx(ctx, k, 1)
		return !limited, err
	}, nil
}

func init() {
	RedisPeers = append(RedisPeers,
		RemotePeer{"stint", "raw-stint", stintRedis(core.GCRA{}, one)},
		RemotePeer{"stint-fixed", "raw-stint-fixed", stintRedis(core.FixedWindow{}, one)},
		RemotePeer{"stint-sliding", "raw-stint-sliding", stintRedis(core.SlidingWindow{}, one)},
		RemotePeer{"stint-five", "redis_rate-five", stintRedis(core.GCRA{}, five)},
		RemotePeer{"redis_rate", "raw-gcra", redisRate(one)},
		RemotePeer{"redis_rate-five", "", redisRate(five)},
		RemotePeer{"ulule", "raw-gcra", ululeRedis},
		RemotePeer{"throttled", "raw-gcra", throttledRedis},
	)
}
