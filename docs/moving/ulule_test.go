package moving

import (
	"context"
	"log"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/gin-gonic/gin"
	"github.com/ulule/limiter/v3"
	ululegin "github.com/ulule/limiter/v3/drivers/middleware/gin"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	ululememory "github.com/ulule/limiter/v3/drivers/store/memory"

	ginlimit "github.com/stint-go/stint/adapters/gin"
	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/core"
)

func ululeBefore(t *testing.T) http.Handler {
	// region before
	rate, err := limiter.NewRateFromFormatted("5-M")
	if err != nil {
		log.Fatal(err)
	}
	limited := stdlib.NewMiddleware(limiter.New(ululememory.NewStore(), rate))
	handler := limited.Handler(hello)
	// endregion
	return handler
}

func ululeAfter() http.Handler {
	// region after
	handler := httplimit.Limit("5/m")(hello)
	// endregion
	return handler
}

func TestUlule(t *testing.T) {
	atOnce := func(t *testing.T, h http.Handler) {
		bob.want(t, h, 20, 5)
		eve.want(t, h, 20, 5)
	}
	atOnce(t, ululeBefore(t)) // its memory has a goroutine, which a bubble does not let go
	synctest.Test(t, func(t *testing.T) { atOnce(t, ululeAfter()) })
}

func TestUluleHeaders(t *testing.T) {
	theirs := []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}
	ours := []string{"Ratelimit-Policy", "Ratelimit"}
	before := ululeBefore(t)
	bob.want(t, before, 5, 5)
	has(t, bob.get(before, "/"), theirs, append(ours, "Retry-After"))
	synctest.Test(t, func(t *testing.T) {
		after := ululeAfter()
		bob.want(t, after, 5, 5)
		has(t, bob.get(after, "/"), append(ours, "Retry-After"), theirs)
	})
}

// A customer of an IPv6 network has 2^64 addresses.
func TestUluleIPv6(t *testing.T) {
	passed := func(t *testing.T, h http.Handler) (n int) {
		for _, from := range []string{"2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"} {
			n += client{from: from}.passes(t, h, 5)
		}
		return n
	}
	if n := passed(t, ululeBefore(t)); n != 20 {
		t.Errorf("before: %d requests passed, the page says 20", n)
	}
	synctest.Test(t, func(t *testing.T) {
		if n := passed(t, ululeAfter()); n != 5 {
			t.Errorf("after: %d requests passed, want 5", n)
		}
	})
}

func ululeGinBefore(t *testing.T) http.Handler {
	login := func(c *gin.Context) { c.String(200, "hello") }
	// region gin-before
	rate, err := limiter.NewRateFromFormatted("5-M")
	if err != nil {
		log.Fatal(err)
	}
	r := gin.New()
	r.Use(ululegin.NewMiddleware(limiter.New(ululememory.NewStore(), rate)))
	r.GET("/", login)
	// endregion
	return r
}

func ululeGinAfter() http.Handler {
	login := func(c *gin.Context) { c.String(200, "hello") }
	// region gin-after
	r := gin.New()
	r.Use(ginlimit.Limit("5/m"))
	r.GET("/", login)
	// endregion
	return r
}

func TestUluleGin(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	bob.want(t, ululeGinBefore(t), 20, 5)
	if n := spoofs(t, ululeGinBefore(t), 20); n != 20 {
		t.Errorf("before: %d forged requests passed, the page says 20", n)
	}
	synctest.Test(t, func(t *testing.T) {
		bob.want(t, ululeGinAfter(), 20, 5)
		if n := spoofs(t, ululeGinAfter(), 20); n != 5 {
			t.Errorf("after: %d forged requests passed, want 5", n)
		}
	})
}

func TestUluleTrustForwardHeader(t *testing.T) {
	rate := limiter.Rate{Period: 60e9, Limit: 5}
	before := stdlib.NewMiddleware(limiter.New(ululememory.NewStore(), rate, limiter.WithTrustForwardHeader(true))).Handler(hello)
	if n := spoofs(t, before, 20); n != 20 {
		t.Errorf("before: %d forged requests passed, the page says 20", n)
	}
}

// ululeDown is a store of ulule/limiter that does not answer.
type ululeDown struct{ limiter.Store }

func (ululeDown) Get(context.Context, string, limiter.Rate) (limiter.Context, error) {
	return limiter.Context{}, errUnreachable
}

func TestUluleStoreDown(t *testing.T) {
	before := stdlib.NewMiddleware(limiter.New(ululeDown{}, limiter.Rate{Period: 60e9, Limit: 5})).Handler(hello)
	defer func() {
		if recover() == nil {
			t.Error("before: no panic, the page says so")
		}
	}()
	bob.get(before, "/")
}

func TestUluleCore(t *testing.T) {
	ctx, theirs, ours := t.Context(), limiter.New(ululememory.NewStore(), limiter.Rate{Period: 60e9, Limit: 5}), makeLimiter(t, core.Policy{Name: "jobs", Rate: "5/m"})
	// region core-before
	got, err := theirs.Increment(ctx, "tenant:acme", 3) // got.Reached, got.Remaining
	look, _ := theirs.Peek(ctx, "tenant:acme")
	_, _ = theirs.Reset(ctx, "tenant:acme")
	// endregion
	if err != nil || got.Reached || look.Remaining != 2 {
		t.Error(got, look, err)
	}
	// region core-after
	acme := core.NewKey("tenant", "acme")
	d, err := ours.Allow(ctx, "jobs", acme, 3) // d.Allowed, d.Remaining, d.RetryAfter
	seen, _ := ours.Peek(ctx, "jobs", acme, 0)
	_ = ours.Reset(ctx, "jobs", acme)
	// endregion
	if err != nil || !d.Allowed || seen.Remaining != 2 {
		t.Error(d, seen, err)
	}
	// A cost that does not fit: theirs is spent all the same.
	theirs.Increment(ctx, "k", 4)
	theirs.Increment(ctx, "k", 4)
	if c, _ := theirs.Increment(ctx, "k", 1); !c.Reached {
		t.Error("before: a refused cost was not counted, the page says it is")
	}
	ours.Allow(ctx, "jobs", acme, 4)
	ours.Allow(ctx, "jobs", acme, 4)
	if d, _ := ours.Allow(ctx, "jobs", acme, 1); !d.Allowed {
		t.Error("after: a refused cost was counted")
	}
}
