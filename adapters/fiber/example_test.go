package fiberlimit_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/gofiber/fiber/v2"

	fiberlimit "github.com/stint-go/stint/adapters/fiber"
)

func Example() {
	app := fiber.New()
	app.Use(fiberlimit.Limit("100/m; 2000/d"))
	app.Post("/login", fiberlimit.Limit("2/d"), func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusOK) })

	for range 3 {
		resp, err := app.Test(httptest.NewRequest("POST", "/login", nil))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(resp.StatusCode, resp.Header.Get("RateLimit-Policy"))
	}
	// Output:
	// 200 "default-1m";q=100;w=60, "default-1d";q=2000;w=86400, "default";q=2;w=86400
	// 200 "default-1m";q=100;w=60, "default-1d";q=2000;w=86400, "default";q=2;w=86400
	// 429 "default-1m";q=100;w=60, "default-1d";q=2000;w=86400, "default";q=2;w=86400
}
