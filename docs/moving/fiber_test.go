package moving

import (
	"log"
	"log/slog"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/limiter"

	fiberlimit "github.com/stint-go/stint/adapters/fiber"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func front(c *fiber.Ctx) error { return c.SendString("hello") }

func fiberBefore() http.Handler {
	// region before
	app := fiber.New()
	app.Use(limiter.New(limiter.Config{Max: 5, Expiration: time.Minute}))
	app.Get("/", front)
	// endregion
	return fiberHandler(app)
}

func fiberAfter() http.Handler {
	// region after
	app := fiber.New()
	app.Use(fiberlimit.Limit("5/m"))
	app.Get("/", front)
	// endregion
	return fiberHandler(app)
}

func TestFiber(t *testing.T) {
	atOnce := func(t *testing.T, h http.Handler) {
		bob.want(t, h, 20, 5)
		eve.want(t, h, 20, 5)
	}
	atOnce(t, fiberBefore()) // it has a goroutine, which a bubble does not let go
	synctest.Test(t, func(t *testing.T) { atOnce(t, fiberAfter()) })
}

func TestFiberForged(t *testing.T) {
	// region proxy-before
	app := fiber.New(fiber.Config{ProxyHeader: fiber.HeaderXForwardedFor})
	app.Use(limiter.New(limiter.Config{Max: 5, Expiration: time.Minute}))
	// endregion
	app.Get("/", front)
	if n := spoofs(t, fiberHandler(app), 20); n != 20 {
		t.Errorf("before: %d forged requests passed, the page says 20", n)
	}

	synctest.Test(t, testFiberForgedAfter)
}

func testFiberForgedAfter(t *testing.T) {
	// region proxy-after
	l, err := core.New(core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "pages", Rate: "5/m"}},
		Proxies:  []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	})
	if err != nil {
		log.Fatal(err)
	}
	app := fiber.New() // what Fiber is told about proxies does not matter to the limiter
	app.Use(fiberlimit.New(l))
	// endregion
	app.Get("/", front)
	h := fiberHandler(app)
	if n := spoofs(t, h, 20); n != 5 {
		t.Errorf("after: %d forged requests passed, want 5", n)
	}
	local.forging("198.51.100.7").want(t, h, 20, 5)
	local.forging("198.51.100.8").want(t, h, 20, 5)
}

// A limit of 0 means five before.
func TestFiberZero(t *testing.T) {
	before := fiber.New()
	before.Use(limiter.New(limiter.Config{Max: 0}))
	before.Get("/", front)
	after := fiber.New()
	after.Use(fiberlimit.Limit("0/s"))
	after.Get("/", front)
	bob.want(t, fiberHandler(before), 9, 5)
	bob.want(t, fiberHandler(after), 9, 0)
}

// fiberDown is a fiber.Storage that does not answer.
type fiberDown struct{ fiber.Storage }

func (fiberDown) Get(string) ([]byte, error)              { return nil, errUnreachable }
func (fiberDown) Set(string, []byte, time.Duration) error { return errUnreachable }

func TestFiberStoreDown(t *testing.T) {
	before := fiber.New()
	before.Use(limiter.New(limiter.Config{Max: 5, Expiration: time.Minute, Storage: fiberDown{}}))
	before.Get("/", front)
	bob.want(t, fiberHandler(before), 100, 100)

	after := fiber.New()
	after.Use(fiberlimit.New(makeWith(t, core.Config{Backend: unreachable{}, Logger: slog.New(slog.DiscardHandler), Policies: []core.Policy{{Name: "pages", Rate: "5/m"}}})))
	after.Get("/", front)
	if r := bob.get(fiberHandler(after), "/"); r.StatusCode != 503 {
		t.Error("after:", r.Status)
	}
}

func TestFiberHeaders(t *testing.T) {
	before := fiberBefore()
	theirs := []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}
	ours := []string{"Ratelimit", "Ratelimit-Policy"}
	has(t, bob.get(before, "/"), theirs, ours)
	for range 9 {
		bob.get(before, "/")
	}
	has(t, bob.get(before, "/"), []string{"Retry-After"}, append(ours, theirs...))

	synctest.Test(t, func(t *testing.T) {
		after := fiberAfter()
		has(t, bob.get(after, "/"), ours, theirs)
		for range 9 {
			bob.get(after, "/")
		}
		has(t, bob.get(after, "/"), append(ours, "Retry-After"), theirs)
	})
}

// Counting only what failed, as SkipSuccessfulRequests does.
func TestFiberFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := makeLimiter(t, core.Policy{Name: "failures", Rate: "3/m"})
		app := fiber.New()
		// region failures
		app.Use(func(c *fiber.Ctx) error {
			asked := fiberlimit.Request(c)
			if d, err := failures.PeekRequest(asked); err != nil || !d.Allowed {
				return fiber.ErrTooManyRequests
			}
			err := c.Next()
			if err != nil || c.Response().StatusCode() >= 400 {
				failures.AllowRequest(asked) // charged when it failed
			}
			return err
		})
		// endregion
		app.Get("/", front)
		h := fiberHandler(app)
		bob.want(t, h, 9, 9)
		for range 3 {
			if r := bob.get(h, "/nowhere"); r.StatusCode != 404 {
				t.Error(r.Status)
			}
		}
		bob.want(t, h, 3, 0)
		eve.want(t, h, 3, 3)
	})
}
