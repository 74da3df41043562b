package ginlimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"

	ginlimit "github.com/stint-go/stint/adapters/gin"
)

// A refusal says what it is, whatever middleware before it meant to send.
func TestRefusalHasItsOwnContentType(t *testing.T) {
	gin.SetMode(gin.TestMode)
	e := gin.New()
	e.Use(func(c *gin.Context) { c.Header("Content-Type", "text/html") }, ginlimit.Limit("0/s"))
	e.GET("/", func(c *gin.Context) { c.Status(http.StatusOK) })
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if got := w.Result().Header["Content-Type"]; w.Code != 429 || len(got) != 1 || got[0] != "application/problem+json" {
		t.Errorf("status %d, Content-Type %q", w.Code, got)
	}
}
