package matrix

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	redislimit "github.com/stint-go/stint/backends/redis"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
)

// databases are as many as all tests need, over and over (-count).
const databases = 1 << 16

var (
	shared   *servers.Process // of TestMain
	redisFor = sync.OnceValue(func() *servers.Server {
		return servers.Redis(shared, "--databases", strconv.Itoa(databases))
	})
	database atomic.Int64
)

// openRedis is a backend on a database of its own of one server.
func openRedis(tb testing.TB) core.Backend {
	tb.Helper()
	db := int(database.Add(1))
	if db >= databases {
		tb.Fatal("all databases are used")
	}
	c := redis.NewClient(&redis.Options{Addr: redisFor().Addr(), DB: db})
	tb.Cleanup(func() { c.Close() })
	b, err := redislimit.New(c, redislimit.Options{Timeout: 20 * time.Second}) // for tests of anything but time-outs
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
