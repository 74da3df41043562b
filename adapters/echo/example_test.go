package echolimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/labstack/echo/v4"

	echolimit "github.com/stint-go/stint/adapters/echo"
)

func Example() {
	e := echo.New()
	e.Use(echolimit.Limit("100/m; 2000/d"))
	e.POST("/login", func(c echo.Context) error { return c.NoContent(http.StatusOK) }, echolimit.Limit("2/d"))

	for range 3 {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest("POST", "/login", nil))
		fmt.Println(w.Code, w.Header().Get("RateLimit-Policy"))
	}
	// Output:
	// 200 "default-1m";q=100;w=60, "default-1d";q=2000;w=86400, "default";q=2;w=86400
	// 200 "default-1m";q=100;w=60, "default-1d";q=2000;w=86400, "default";q=2;w=86400
	// 429 "default-1m";q=100;w=60, "default-1d";q=2000;w=86400, "default";q=2;w=86400
}
