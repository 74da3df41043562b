package a

import "github.com/gin-gonic/gin"

func keys(c *gin.Context, e ctx) {
	_ = c.ClientIP()
	f := e.RealIP
	_ = f
	_ = (*gin.Context).ClientIP
}
