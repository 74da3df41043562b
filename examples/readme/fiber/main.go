// A Fiber application with two limits.
package main

import (
	"log"

	"github.com/gofiber/fiber/v2"

	fiberlimit "github.com/stint-go/stint/adapters/fiber"
)

// region program

func main() {
	log.Fatal(newApp().Listen("127.0.0.1:8080"))
}

func newApp() *fiber.App {
	app := fiber.New()
	app.Use(fiberlimit.Limit("100/m; 2000/d"))           // each client IP, all routes, in memory
	app.Post("/login", fiberlimit.Limit("5/15m"), login) // this route only, its own counter
	return app
}

func login(c *fiber.Ctx) error {
	return c.SendString("welcome\n")
}

// endregion
