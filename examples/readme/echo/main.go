// An Echo application with two limits.
package main

import (
	"net/http"

	"github.com/labstack/echo/v4"

	echolimit "github.com/stint-go/stint/adapters/echo"
)

// region program

func main() {
	e := newApp()
	e.Logger.Fatal(e.Start("127.0.0.1:8080"))
}

func newApp() *echo.Echo {
	e := echo.New()
	e.Use(echolimit.Limit("100/m; 2000/d"))           // each client IP, all routes, in memory
	e.POST("/login", login, echolimit.Limit("5/15m")) // this route only, its own counter
	return e
}

func login(c echo.Context) error {
	return c.String(http.StatusOK, "welcome\n")
}

// endregion
