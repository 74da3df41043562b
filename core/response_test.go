package core_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stint-go/stint/core"
)

func TestResponseHeader(t *testing.T) {
	own := map[string][]string{"x-own": {"a", "b"}, "content-type": {"text/html"}}
	for _, tc := range []struct {
		name string
		r    core.Response
		want string
	}{
		{"empty", core.Response{}, "map[Content-Length:[0] Content-Type:[]]"},
		{"typed", core.Response{ContentType: "text/plain", Body: []byte("no")}, "map[Content-Length:[2] Content-Type:[text/plain]]"},
		{"own fields", core.Response{Header: own, ContentType: "text/plain"}, "map[Content-Length:[0] Content-Type:[text/plain] X-Own:[a b]]"},
	} {
		h := http.Header{"Content-Type": {"before"}}
		tc.r.WriteHeader(h)
		if got := fmt.Sprint(map[string][]string(h)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		if h["X-Own"] != nil {
			if h["X-Own"][0] = "changed"; own["x-own"][0] != "a" {
				t.Error("the response's own fields are not copied")
			}
		}
	}
	for n := range 1100 {
		h := http.Header{}
		(&core.Response{Body: make([]byte, n)}).WriteHeader(h)
		if got := h.Get("Content-Length"); got != strconv.Itoa(n) {
			t.Fatalf("body of %d bytes: Content-Length %s", n, got)
		}
	}
}

// Whatever other middleware does to the lines of one response, neither its other
// fields nor later responses know.
func TestHeaderLinesBelongToTheirResponse(t *testing.T) {
	long := strings.Repeat("long", 16)
	for _, name := range []string{"api", long} {
		for _, rate := range []string{"9/m", "0/s", "1/h"} {
			l := limiter(t, newClock(), core.Policy{Name: name, Rate: rate, Strategy: core.MovingWindow{}})
			visit(l, get("192.0.2.1"))
			answer := func() http.Header {
				v := visit(l, get("192.0.2.1"))
				h := fields(&v.Decision)
				if !v.Pass {
					v.Response.WriteHeader(h)
				}
				return h
			}
			want, h := answer(), answer()
			if rate == "9/m" {
				want.Set("RateLimit", strings.Replace(want.Get("RateLimit"), "r=7", "r=6", 1))
			}
			for field := range want {
				if h.Get(field) != want.Get(field) {
					t.Errorf("%s: %s %q, want %q", rate, field, h.Get(field), want.Get(field))
				}
				h[field] = append(h[field], "appended")
				h[field][0] = "changed"
				for other := range want {
					if other != field && h[other][0] == "appended" {
						t.Errorf("what is appended to %s shows in %s", field, other)
					}
				}
			}
			if got := fmt.Sprint(answer()); strings.Contains(got, "changed") || strings.Contains(got, "appended") {
				t.Errorf("a later response has %s", got)
			}
		}
	}
}
