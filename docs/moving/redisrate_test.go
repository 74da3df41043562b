package moving

import (
	"context"
	"log"
	"net"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func redisRateBefore(rdb *redis.Client) http.Handler {
	// region before
	limiter := redis_rate.NewLimiter(rdb)
	limit := redis_rate.Limit{Rate: 10, Period: time.Minute, Burst: 5}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		res, err := limiter.Allow(r.Context(), "api:"+host, limit)
		if err != nil {
			http.Error(w, "rate limiter: "+err.Error(), http.StatusInternalServerError)
			return
		}
		if res.Allowed == 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(res.RetryAfter.Seconds())))
			http.Error(w, "rate limited", http.StatusTooManyRequests)
			return
		}
		hello(w, r)
	})
	// endregion
	return handler
}

func redisRateAfter(t *testing.T) http.Handler {
	// region after
	l, err := core.New(core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "api", Rate: "10/m", Strategy: core.GCRA{Burst: 5}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	handler := httplimit.New(l)(hello)
	// endregion
	return handler
}

// What comes before needs a Redis to admit anything; without one it answers 500.
func TestRedisRateStoreDown(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{
		MaxRetries: -1,
		Dialer:     func(context.Context, string, string) (net.Conn, error) { return nil, errUnreachable },
	})
	defer rdb.Close()
	if r := bob.get(redisRateBefore(rdb), "/"); r.StatusCode != 500 {
		t.Error("before:", r.Status)
	}
}

func TestRedisRateAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := redisRateAfter(t)
		bob.want(t, h, 20, 5)
		if s := bob.get(h, "/").Header.Get("Retry-After"); s != "6" {
			t.Errorf("Retry-After: %s", s)
		}
		time.Sleep(6 * time.Second)
		bob.want(t, h, 20, 1)
		eve.want(t, h, 20, 5)
	})
}

func TestRedisRateMethods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := makeLimiter(t, core.Policy{Name: "api", Rate: "10/m", Strategy: core.GCRA{Burst: 5}})
		ctx := t.Context()
		// region methods
		key := core.NewKey("account", "acme")
		d, err := l.Allow(ctx, "api", key, 3)                   // AllowN(ctx, "acme", limit, 3)
		never, _ := l.Allow(ctx, "api", key, 6)                 // above the burst: RetryAfter is core.NoRetry
		rest, _ := l.Peek(ctx, "api", key, 0)                   // rest.Remaining is 2: there is no AllowAtMost,
		_, _ = l.Allow(ctx, "api", key, min(rest.Remaining, 4)) // and this may be refused
		_ = l.Reset(ctx, "api", key)                            // Reset(ctx, "acme")
		// endregion
		if err != nil || !d.Allowed || never.RetryAfter != core.NoRetry || rest.Remaining != 2 {
			t.Error(err, d, never, rest)
		}
	})
}
