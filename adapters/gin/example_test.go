package ginlimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/gin-gonic/gin"

	ginlimit "github.com/stint-go/stint/adapters/gin"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func Example() {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.POST("/login", ginlimit.Limit("2/d"), func(c *gin.Context) { c.String(http.StatusOK, "welcome") })

	for range 3 {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest("POST", "/login", nil))
		fmt.Println(w.Code, w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// 200 "default";q=2;w=86400
	// 200 "default";q=2;w=86400
	// 429 "default";q=2;w=86400
}

// A policy that annotates leaves it to the handler what happens.
func ExampleDecision() {
	l, err := core.New(core.Config{
		Backend:  memory.New(),
		Policies: []core.Policy{{Name: "search", Rate: "1/d", Mode: core.Annotate}},
	})
	if err != nil {
		panic(err)
	}
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.GET("/search", ginlimit.New(l), func(c *gin.Context) {
		if d, ok := ginlimit.Decision(c); ok && d.Limited {
			c.String(http.StatusOK, "results of yesterday")
			return
		}
		c.String(http.StatusOK, "results")
	})
	for range 2 {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest("GET", "/search", nil))
		fmt.Println(w.Body)
	}
	// Output:
	// results
	// results of yesterday
}
