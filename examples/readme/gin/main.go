// A Gin application with two limits.
package main

import (
	"net/http"

	"github.com/gin-gonic/gin"

	ginlimit "github.com/stint-go/stint/adapters/gin"
)

func main() {
	newApp().Run("127.0.0.1:8080")
}

func newApp() *gin.Engine {
	r := gin.Default()
	r.Use(ginlimit.Limit("100/m; 2000/d"))           // each client IP, all routes, in memory
	r.POST("/login", ginlimit.Limit("5/15m"), login) // this route only, its own counter
	return r
}

func login(c *gin.Context) {
	c.String(http.StatusOK, "welcome\n")
}
