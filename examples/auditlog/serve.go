package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v2"
	"github.com/labstack/echo/v4"

	echolimit "github.com/stint-go/stint/adapters/echo"
	fiberlimit "github.com/stint-go/stint/adapters/fiber"
	ginlimit "github.com/stint-go/stint/adapters/gin"
)

// A server is the application in one framework. The limiters are mounted on the
// routes, where every framework knows which route it is.
type server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

func newServer(framework string, l limits) (server, error) {
	switch framework {
	case "gin":
		return onNetHTTP(ginApp(l)), nil
	case "echo":
		return onNetHTTP(echoApp(l)), nil
	case "fiber":
		return fiberApp(l), nil
	}
	return nil, fmt.Errorf("framework %q: use gin, echo or fiber", framework)
}

func ginApp(l limits) http.Handler {
	say := func(text string) gin.HandlerFunc {
		return func(c *gin.Context) { c.String(http.StatusOK, text) }
	}
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.GET("/", ginlimit.New(l.everyone), say("hello\n"))
	r.POST("/login", ginlimit.New(l.login), say("welcome\n"))
	return r
}

func echoApp(l limits) http.Handler {
	say := func(text string) echo.HandlerFunc {
		return func(c echo.Context) error { return c.String(http.StatusOK, text) }
	}
	e := echo.New()
	e.GET("/", say("hello\n"), echolimit.New(l.everyone))
	e.POST("/login", say("welcome\n"), echolimit.New(l.login))
	return e
}

func fiberApp(l limits) server {
	say := func(text string) fiber.Handler {
		return func(c *fiber.Ctx) error { return c.SendString(text) }
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true, ReadTimeout: readTimeout})
	app.Get("/", fiberlimit.New(l.everyone), say("hello\n"))
	app.Post("/login", fiberlimit.New(l.login), say("welcome\n"))
	return onFiber{app}
}

const readTimeout = 10 * time.Second

func onNetHTTP(h http.Handler) server { return &http.Server{Handler: h, ReadTimeout: readTimeout} }

type onFiber struct{ app *fiber.App }

func (s onFiber) Serve(ln net.Listener) error        { return s.app.Listener(ln) }
func (s onFiber) Shutdown(ctx context.Context) error { return s.app.ShutdownWithContext(ctx) }
