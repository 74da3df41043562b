package core_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

func fields(d *core.Decision) http.Header {
	h := http.Header{}
	d.WriteHeader(h)
	return h
}

func TestHeaderFields(t *testing.T) {
	c := newClock()
	moving := core.MovingWindow{}
	for _, tc := range []struct {
		name     string
		policies []core.Policy
		headers  core.Headers
		requests int
		want     map[string]string
	}{
		{"one rate", []core.Policy{{Name: "api", Rate: "3/m", Strategy: moving}}, 0, 1,
			map[string]string{"RateLimit-Policy": `"api";q=3;w=60`, "RateLimit": `"api";r=2;t=60`}},
		{"refused", []core.Policy{{Name: "api", Rate: "3/m", Strategy: moving}}, 0, 4,
			map[string]string{"RateLimit-Policy": `"api";q=3;w=60`, "RateLimit": `"api";r=0;t=60`, "Retry-After": "60"}},
		{"several rates", []core.Policy{{Name: "api", Rate: "3/m; 9/d", Strategy: moving}}, 0, 1,
			map[string]string{"RateLimit-Policy": `"api-1m";q=3;w=60, "api-1d";q=9;w=86400`, "RateLimit": `"api-1m";r=2;t=60, "api-1d";r=8;t=86400`}},
		{"several policies", []core.Policy{{Name: "a", Rate: "3/m", Strategy: moving}, {Name: "b", Rate: "1/h", Strategy: moving}}, 0, 2,
			map[string]string{"RateLimit-Policy": `"a";q=3;w=60, "b";q=1;w=3600`, "RateLimit": `"a";r=2;t=60, "b";r=0;t=3600`, "Retry-After": "3600"}},
		{"below a second", []core.Policy{{Name: "api", Rate: "3/250ms", Strategy: moving}}, 0, 4,
			map[string]string{"RateLimit-Policy": `"api";q=3`, "RateLimit": `"api";r=0;t=1`, "Retry-After": "1"}},
		{"burst", []core.Policy{{Name: "api", Rate: "60/m", Strategy: core.GCRA{Burst: 5}}}, 0, 1,
			map[string]string{"RateLimit-Policy": `"api";q=5;w=5`, "RateLimit": `"api";r=4;t=1`}},
		{"never", []core.Policy{{Name: "api", Rate: "0/s"}}, 0, 1,
			map[string]string{"RateLimit-Policy": `"api";q=0;w=1`, "RateLimit": `"api";r=0`}},
		{"each identity", []core.Policy{{Name: "api", Rate: "3/m", Strategy: moving, Key: core.Each(core.ByIP, core.Const("all"))}}, 0, 2,
			map[string]string{"RateLimit-Policy": `"api";q=3;w=60`, "RateLimit": `"api";r=1;t=60`}},
		{"no limit", []core.Policy{{Name: "api", Rate: "none"}}, 0, 1, map[string]string{}},
		{"legacy", []core.Policy{{Name: "api", Rate: "3/m", Strategy: moving}}, core.HeadersLegacy, 1,
			map[string]string{"X-RateLimit-Limit": "3", "X-RateLimit-Remaining": "2", "X-RateLimit-Reset": "1700000060"}},
		{"both", []core.Policy{{Name: "api", Rate: "1/m", Strategy: moving}}, core.HeadersLegacy | core.HeadersDraft10, 2,
			map[string]string{"RateLimit-Policy": `"api";q=1;w=60`, "RateLimit": `"api";r=0;t=60`, "Retry-After": "60",
				"X-RateLimit-Limit": "1", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000060"}},
		{"none", []core.Policy{{Name: "api", Rate: "1/m", Strategy: moving}}, core.HeadersNone, 2, map[string]string{"Retry-After": "60"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := configured(t, core.Config{Policies: tc.policies, Headers: tc.headers, Now: c.now})
			var v *core.Visit
			for range tc.requests {
				v = visit(l, get("192.0.2.1"))
			}
			got := fields(&v.Decision)
			for k, want := range tc.want {
				if got.Get(k) != want {
					t.Errorf("%s: %q, want %q", k, got.Get(k), want)
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("fields %v, want %d of them", got, len(tc.want))
			}
			n := 0
			for k, want := range v.Decision.Header() {
				n++
				if got.Get(k) != want {
					t.Errorf("Header yields %s: %q, WriteHeader wrote %q", k, want, got.Get(k))
				}
			}
			if n != len(got) {
				t.Errorf("Header yields %d fields, WriteHeader wrote %d", n, len(got))
			}
		})
	}
}

func TestRetryAfterIsNeverTooEarly(t *testing.T) {
	c := newClock()
	l := limiter(t, c, core.Policy{Name: "api", Rate: "1/1500ms", Strategy: core.MovingWindow{}})
	visit(l, get("192.0.2.1"))
	for wait, want := range map[time.Duration]string{0: "2", 500 * time.Millisecond: "1", 499 * time.Millisecond: "2", 1499999 * time.Microsecond: "1"} {
		start := c.t
		c.advance(wait)
		if got := fields(&visit(l, get("192.0.2.1")).Decision).Get("Retry-After"); got != want {
			t.Errorf("after %v: Retry-After %q, want %q", wait, got, want)
		}
		c.t = start
	}
}

func TestStackedLimitersShareTheFields(t *testing.T) {
	c := newClock()
	h := http.Header{}
	bytes := make([][]byte, core.MaxFields) // the same, as frameworks have it that keep bytes
	for _, name := range []string{"outer", "inner"} {
		d := visit(limiter(t, c, core.Policy{Name: name, Rate: "3/m", Strategy: core.MovingWindow{}}), get("192.0.2.1")).Decision
		d.WriteHeader(h)
		for i, old := range bytes {
			if d.Fields()>>i&1 == 1 {
				bytes[i] = d.AppendField(nil, i, old)
			}
		}
	}
	if sent := (&core.Decision{}).Fields(); sent != 0 {
		t.Errorf("an empty decision has fields %b", sent)
	}
	for i, value := range bytes {
		if i < 2 && string(value) != h[core.FieldName(i)][0] || i >= 2 && value != nil {
			t.Errorf("field %d by AppendField: %s", i, value)
		}
	}
	if got := h.Values("RateLimit"); len(got) != 1 || got[0] != `"outer";r=2;t=60, "inner";r=2;t=60` {
		t.Errorf("RateLimit %q", got)
	}
}

// Told waits are spread upwards over a tenth of the window; the promise of the
// Decision stays exact.
func TestJitterSpreadsWhatClientsAreTold(t *testing.T) {
	c := newClock()
	l := configured(t, core.Config{Policies: []core.Policy{{Name: "api", Rate: "1/1000s", Strategy: core.MovingWindow{}}}, Now: c.now, Jitter: true})
	if got := fields(&visit(l, get("192.0.2.1")).Decision).Get("RateLimit"); got != `"api";r=0;t=1000` {
		t.Errorf("admitted with %s", got)
	}
	told := map[int]int{}
	for range 20_000 {
		d := visit(l, get("192.0.2.1")).Decision
		h := fields(&d)
		s, _ := strconv.Atoi(h.Get("Retry-After"))
		told[s]++
		if want := fmt.Sprintf(`"api";r=0;t=%d`, s); h.Get("RateLimit") != want || d.RetryAfter != 1000*time.Second {
			t.Fatalf("RateLimit %s, want %s; RetryAfter %v", h.Get("RateLimit"), want, d.RetryAfter)
		}
	}
	for s, n := range told {
		if s < 1000 || s > 1100 || n > 400 { // 200 expected in each second: a peak is at most twice the mean
			t.Errorf("%d of 20,000 told %d s", n, s)
		}
	}
	if len(told) < 95 {
		t.Errorf("only %d different waits", len(told))
	}
}
