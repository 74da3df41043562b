package main

import (
	"bytes"
	"html/template"
	"log/slog"
	"net/http"
)

const shown = 50

// A page shows the last denials, and what the log has dropped. It is for the
// operator: do not serve it where everybody can reach it.
type page struct {
	log   *Log
	store *store
}

func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rows, err := p.store.last(r.Context(), shown)
	var b bytes.Buffer
	if err == nil {
		err = pageHTML.Execute(&b, map[string]any{
			"Rows": rows, "Written": p.log.written.Load(), "Queued": len(p.log.queue), "Dropped": p.log.dropped.Load(),
		})
	}
	if err != nil {
		slog.Error("denials not shown", "err", err)
		http.Error(w, "not readable now", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b.Bytes())
}

// pageHTML escapes what it is given.
var pageHTML = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<title>Denials</title>
<h1>The last denials</h1>
<p>Since the start: {{.Written}} written, {{.Queued}} waiting, {{.Dropped}} dropped.</p>
<table>
<tr><th>time (UTC)<th>policy<th>rate<th>identity<th>route<th>consumed
{{range .Rows}}<tr><td>{{.At.Format "2006-01-02 15:04:05.000"}}<td>{{.Policy}}<td>{{.Rate}}<td>{{.Identity}}<td>{{.Route}}<td>{{.Consumed}}
{{end}}</table>
</html>
`))
