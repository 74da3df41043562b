package main

import (
	"net/http"

	"github.com/gin-gonic/gin"

	ginlimit "github.com/stint-go/stint/adapters/gin"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// newApp is the application that the demo sends requests to: a start page, a
// login and two reports. client says what tells its clients apart.
func newApp(client core.KeySource) (http.Handler, error) {
	api := core.Policy{Name: "api", Rate: "5/s", Key: client, Strategy: core.GCRA{}}
	login := core.Policy{Name: "login", Rate: "5/15m", Key: core.Join(client, core.ByForm("username")),
		Strategy: core.MovingWindow{}}
	reports := core.Policy{Name: "reports", Rate: "10/m", Key: client, Strategy: core.BucketedWindow{}}

	// Policies of one limiter decide together: what login refuses is not charged
	// to api. Policies of one name on one backend share their counters: each
	// client has one api quota for all three limiters.
	backend := memory.New()
	everywhere, err := core.New(core.Config{Backend: backend, Policies: []core.Policy{api}})
	if err != nil {
		return nil, err
	}
	forLogin, err := core.New(core.Config{Backend: backend, Policies: []core.Policy{api, login}})
	if err != nil {
		return nil, err
	}
	forReports, err := core.New(core.Config{Backend: backend, Policies: []core.Policy{api, reports}})
	if err != nil {
		return nil, err
	}

	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.GET("/", ginlimit.New(everywhere), say("hello\n"))
	r.POST("/login", ginlimit.New(forLogin), say("welcome\n"))
	group := r.Group("/reports", ginlimit.New(forReports)) // one quota for both routes
	group.GET("/csv", say("a,b,c\n"))
	group.GET("/pdf", say("%PDF\n"))
	return r, nil
}

func say(text string) gin.HandlerFunc {
	return func(c *gin.Context) { c.String(http.StatusOK, text) }
}
