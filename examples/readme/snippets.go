// Package readme is the code of the README that is no program of its own. What
// it does is shown by its tests.
package readme

import (
	"log/slog"
	"net/netip"

	"github.com/gin-gonic/gin"

	ginlimit "github.com/stint-go/stint/adapters/gin"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/examples/guard"
)

func configured(r *gin.Engine, login gin.HandlerFunc, userOf func(core.Request) string) error {
	// region config
	l, err := core.New(core.Config{
		Backend: memory.New(),
		Policies: []core.Policy{{
			Name:  "login",
			Rate:  "5/15m",
			Hooks: guard.LoginGuard{Field: "username", Audit: slog.Default()},
		}},
		Proxies: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, // in front of the application
		User:    userOf,                                               // func(core.Request) string: who is logged in
	})
	if err != nil {
		return err // everything that is wrong, in one error
	}
	r.POST("/login", ginlimit.New(l), login)
	// endregion
	return nil
}

// region rates

var rates = []string{
	"100/m",            // a minute
	"100/5m",           // five minutes; also 100/300s, 100/300
	"5 per 10 seconds", // in words
	"10/s; 1000/d",     // both; also joined by , or |
	"240/h@1m",         // with sub-windows of a minute, for BucketedWindow
	"0/s",              // refuse everything
	"none",             // no limit
	"1/month; 3/year",  // of 30 and 365 days
}

// endregion

// region strategies

var strategies = []core.Policy{
	{Name: "api", Rate: "100/m; 2000/d"}, // SlidingWindow{}
	{Name: "login", Rate: "5/15m", Strategy: core.MovingWindow{}},
	{Name: "reports", Rate: "240/h@1m", Strategy: core.BucketedWindow{}},
	{Name: "search", Rate: "10/s", Strategy: core.GCRA{Burst: 20}},
	{Name: "signup", Rate: "3/d", Strategy: core.FixedWindow{Align: core.Clock}},
}

// endregion

// region keys

var keys = []core.Policy{
	{Name: "api", Rate: "100/m", Key: core.ByUserOrIP},
	{Name: "route", Rate: "50/m", Key: core.Join(core.ByIP, core.ByRoute)},
	{Name: "login", Rate: "5/15m", Key: core.Join(core.ByIP, core.Fold(core.ByForm("username")))},
	{Name: "reset", Rate: "3/h", Key: core.Each(core.ByIP, core.ByJSON("email"))},
	{Name: "partner", Rate: "10/s", By: "header:X-Api-Key", Missing: core.MissingRefuse},
}

// endregion

// region plans

// plan answers the rates of whoever sends the request.
func plan(policy string, r core.Request) (core.Rates, error) {
	if r != nil && r.User() == "carol" {
		return core.Rates{}, nil // no limit
	}
	return core.ParseRates("10/s; 1000/d")
}

// endregion

// region disallowed

// brief answers all refusals without a document.
func brief(r core.Request, d core.Decision) core.Response {
	return core.Response{Status: 429, ContentType: "text/plain", Body: []byte("slow down\n")}
}

// endregion
