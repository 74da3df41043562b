package adaptertest

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/stint-go/stint/core"
)

// ok answers "ok".
func ok(x Exchange) { x.Text(200, "ok") }

// counted is ok, and counts.
func counted(n *atomic.Int64) Handler {
	return func(x Exchange) {
		n.Add(1)
		x.Text(200, "ok")
	}
}

// digest answers with length and hash of the body that it has read.
func digest(x Exchange) {
	b, err := x.Body()
	if err != nil {
		x.Text(400, "unreadable")
		return
	}
	x.Text(200, digestOf(string(b)))
}

func digestOf(body string) string {
	return fmt.Sprintf("%d bytes %x", len(body), sha256.Sum256([]byte(body)))
}

// decision answers with what the handler finds in the context.
func decision(x Exchange) {
	d, ok := x.Decision()
	if !ok {
		x.Text(200, "no decision")
		return
	}
	x.Text(200, decisionText(d))
}

func decisionText(d core.Decision) string {
	return fmt.Sprintf("allowed=%t limited=%t policy=%s limit=%d remaining=%d retry=%v",
		d.Allowed, d.Limited, d.Policy, d.Limit, d.Remaining, d.RetryAfter)
}

// asking answers with what ask says of the request.
func asking(ask func(core.Native) (core.Decision, error)) Handler {
	return func(x Exchange) {
		d, err := ask(x.Request())
		if err != nil {
			x.Text(500, err.Error())
			return
		}
		x.Text(200, decisionText(d))
	}
}

// route is an app of one route, with layers of its own.
func route(method, path string, h Handler, layers ...Layer) App {
	return App{Groups: []Group{{Routes: []Route{{Method: method, Path: path, Layers: layers, Handler: h}}}}}
}

// routes are an app of routes with the same layers each: "GET /a", "POST /b".
func routes(h Handler, layers []Layer, patterns ...string) App {
	var g Group
	for _, p := range patterns {
		method, path, _ := strings.Cut(p, " ")
		g.Routes = append(g.Routes, Route{Method: method, Path: path, Layers: layers, Handler: h})
	}
	return App{Groups: []Group{g}}
}
