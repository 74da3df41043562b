package matrix

import (
	"io"
	"iter"
	"log"
	"net"
	"net/http"
	"testing"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/core/adaptertest"
)

var netHTTP = adaptertest.Adapter{
	Name:   "net/http",
	Serve:  serveNetHTTP,
	Native: answerNetHTTP,
	HTTP2:  true,
	Differs: []adaptertest.Difference{
		{Row: "a handler that panics", Want: "0", Why: "net/http ends the connection"},
	},
}

func serveNetHTTP(tb testing.TB, l net.Listener, app adaptertest.App) {
	mux := http.NewServeMux()
	for _, g := range app.Groups {
		for _, r := range g.Routes {
			var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				r.Handler(httpExchange{w, req})
			})
			mux.Handle(r.Method+" "+exactly(g.Prefix+r.Path), wrap(g.Layers, wrap(r.Layers, h)))
		}
	}
	serveHTTP(tb, l, wrap(app.Layers, mux))
}

// exactly is a pattern for that path alone: "/" would be all that nothing else
// matches.
func exactly(path string) string {
	if path == "/" {
		return "/{$}"
	}
	return path
}

func wrap(layers []adaptertest.Layer, h http.Handler) http.Handler {
	for i := len(layers) - 1; i >= 0; i-- {
		h = layer(layers[i], h)
	}
	return h
}

func layer(l adaptertest.Layer, next http.Handler) http.Handler {
	if l.Limiter != nil {
		return httplimit.New(l.Limiter)(next)
	}
	if l.Rate != "" {
		return httplimit.Limit(l.Rate, l.By...)(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.Gate(httpExchange{w, r}) {
			next.ServeHTTP(w, r)
		}
	})
}

// serveHTTP is a server for all frameworks of the net/http family.
func serveHTTP(tb testing.TB, l net.Listener, h http.Handler) {
	s := &http.Server{
		Handler:   h,
		ErrorLog:  log.New(io.Discard, "", 0),
		Protocols: new(http.Protocols),
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: 1000},
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve(l)
	}()
	tb.Cleanup(func() {
		s.Close()
		<-done
	})
}

func answerNetHTTP(r core.Request, status int, text string) bool {
	w, _ := httplimit.Context(r)
	if w == nil {
		return false
	}
	httpExchange{w: w}.Text(status, text)
	return true
}

type httpExchange struct {
	w http.ResponseWriter
	r *http.Request
}

func (x httpExchange) Request() core.Native            { return httplimit.Request(x.r) }
func (x httpExchange) Decision() (core.Decision, bool) { return httplimit.Decision(x.r) }
func (x httpExchange) Reservation() *core.Reservation  { return httplimit.Reservation(x.r) }
func (x httpExchange) Fail(status int)                 { http.Error(x.w, http.StatusText(status), status) }
func (x httpExchange) Body() ([]byte, error)           { return io.ReadAll(x.r.Body) }

func (x httpExchange) Text(status int, text string) {
	x.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	x.w.WriteHeader(status)
	io.WriteString(x.w, text)
}

func (x httpExchange) Stream(chunks iter.Seq[string]) { stream(x.w, chunks) }

// stream writes chunks as all frameworks of the net/http family can.
func stream(w http.ResponseWriter, chunks iter.Seq[string]) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for c := range chunks {
		io.WriteString(w, c)
		http.NewResponseController(w).Flush()
	}
}
