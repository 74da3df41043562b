package main

import (
	"bytes"
	"html/template"
	"net/http"
	"time"

	"github.com/stint-go/stint/core"
)

// region page

// page answers every refusal of the application: Config.Disallowed.
func page(r core.Request, d core.Decision) core.Response {
	return render(r.HeaderValues("Accept"), d)
}

// render is HTML for who prefers that, a problem document (RFC 9457) for others.
func render(accept []string, d core.Decision) core.Response {
	p := core.Refusal(d)
	if prefersHTML(accept) {
		var b bytes.Buffer
		if err := pageHTML.Execute(&b, view{reasons[d.Policy], wait(d)}); err == nil {
			p.ContentType, p.Body = "text/html; charset=utf-8", b.Bytes()
		}
	}
	p.Header = http.Header{"Vary": {"Accept"}}
	return p
}

// endregion

type view struct{ Reason, Wait string }

// reasons say in the application's words what its policies limit.
var reasons = map[string]string{
	"everyone":    "That was faster than we can follow.",
	"misses":      "You asked for many files that we do not have.",
	"invitations": "This mailbox has got enough invitations for today.",
}

var pageHTML = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<title>Too many requests</title>
<h1>Too many requests</h1>
<p>{{.Reason}}</p>
{{with .Wait}}<p>Please try again in {{.}}.</p>{{end}}
</html>
`))

// wait is the wait in whole seconds, rounded up; "" where waiting is in vain.
func wait(d core.Decision) string {
	if d.RetryAfter == core.NoRetry {
		return ""
	}
	return (d.RetryAfter + time.Second - 1).Truncate(time.Second).String()
}
