package bench

import (
	"net/http"
	"strings"

	"github.com/go-chi/httprate"
)

// httprate has no decision API below OnLimit; with blank header names it skips
// the header writes but still formats the numbers.
func init() {
	MemoryPeers = append(MemoryPeers, MemoryPeer{"httprate", func(q Quota) Decider {
		l := httprate.NewRateLimiter(q.N, q.Per, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
		w, r := &nopWriter{}, must(http.NewRequest("GET", "/", nil))
		return DeciderFunc(func(k string) bool { return !l.OnLimit(w, r, k) })
	}})
	HTTPPeers = append(HTTPPeers, HTTPPeer{"nethttp", "httprate", func(q Quota) func() Client {
		return netHTTP(httprate.LimitBy(q.N, q.Per, func(r *http.Request) (string, error) { return httprate.CanonicalizeIP(peer(r)), nil }))
	}})
}

// peer is the address without the port, which is all that httprate.KeyByIP took.
func peer(r *http.Request) string { return r.RemoteAddr[:strings.LastIndexByte(r.RemoteAddr, ':')] }
