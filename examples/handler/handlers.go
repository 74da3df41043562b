package main

import (
	"net/http"
	"net/mail"
	"strings"

	"github.com/gin-gonic/gin"

	ginlimit "github.com/stint-go/stint/adapters/gin"
	"github.com/stint-go/stint/core"
)

// region quota

// quota tells a client how much is left, and charges nothing.
func (a app) quota(c *gin.Context) {
	d, err := a.everyone.PeekRequest(ginlimit.Request(c))
	if err != nil {
		c.String(http.StatusServiceUnavailable, "not known now\n")
		return
	}
	c.JSON(http.StatusOK, gin.H{
		"limit": d.Limit, "remaining": d.Remaining, "all_back_in_seconds": int(d.ResetAfter.Seconds()),
	})
}

// endregion

// region file

// file has those pay who ask for what is not there: they are looking for it.
func (a app) file(c *gin.Context) {
	if d, err := a.misses.PeekRequest(ginlimit.Request(c)); !admitted(c, d, err) {
		return
	}
	if text, ok := files[c.Param("id")]; ok {
		c.String(http.StatusOK, text)
		return
	}
	// The charge decides once more. Requests in parallel have all passed the look,
	// and what comes after a look alone is no limit.
	if d, err := a.misses.AllowRequest(ginlimit.Request(c)); !admitted(c, d, err) {
		return
	}
	c.String(http.StatusNotFound, "no such file\n")
}

// endregion

var files = map[string]string{"readme": "read me\n"}

// region invite

// invite limits by what only the handler knows: a mailbox, whoever writes to it.
// What is no address costs nothing.
func (a app) invite(c *gin.Context) {
	to, err := mail.ParseAddress(c.PostForm("email"))
	if err != nil {
		c.String(http.StatusBadRequest, "that is no mail address\n")
		return
	}
	key := core.NewKey("mailbox", strings.ToLower(to.Address))
	if d, err := a.invitations.Allow(c.Request.Context(), "invitations", key, 1); !admitted(c, d, err) {
		return
	}
	c.String(http.StatusOK, "invited\n")
}

// endregion

// admitted reports whether the handler is to go on. Otherwise it has answered,
// with the page that the middleware has too.
func admitted(c *gin.Context, d core.Decision, err error) bool {
	if err != nil {
		c.String(http.StatusServiceUnavailable, "not possible now\n")
		return false
	}
	if d.Allowed {
		return true
	}
	d.WriteHeader(c.Writer.Header())
	p := render(c.Request.Header["Accept"], d)
	for k, v := range p.Header {
		c.Writer.Header()[k] = v
	}
	c.Data(p.Status, p.ContentType, p.Body)
	return false
}
