package ancestors

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// A site is a limiter in front of a page that answers 200, with a clock that the
// test moves. Windows begin at full minutes, hours and days.
type site struct {
	*core.Limiter
	t     *testing.T
	page  http.Handler
	now   time.Time
	calls int // requests that reached the page
}

var newYear = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

func open(t *testing.T, policies ...core.Policy) *site {
	t.Helper()
	return openConfig(t, core.Config{Policies: policies})
}

func openConfig(t *testing.T, c core.Config) *site {
	t.Helper()
	s := &site{t: t, now: newYear}
	if c.Backend == nil {
		c.Backend = memory.New()
	}
	if c.User == nil {
		c.User = func(r core.Request) string { return r.Header("X-Test-User") }
	}
	c.Now = func() time.Time { return s.now }
	c.Phase = func(core.Cell) int64 { return 0 }
	l, err := core.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s.Limiter = l
	s.page = httplimit.New(l)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.calls++ }))
	return s
}

// play sends requests, one timeline per line:
//
//	61s POST /login username=bob from:192.0.2.7 user:bob X-Api-Key:k -> 200 x2
//
// "x2" is twice; "from" is the peer's address and "user" who is authenticated.
func (s *site) play(timeline string) {
	s.t.Helper()
	for line := range strings.Lines(timeline) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		request, answer, _ := strings.Cut(line, "->")
		want := strings.Fields(answer)
		times := 1
		if len(want) > 1 {
			times, _ = strconv.Atoi(want[1][1:])
		}
		for i := range times {
			if got := s.ask(request); strconv.Itoa(got.Code) != want[0] {
				s.t.Errorf("%s: request %d is answered with %d", line, i+1, got.Code)
			}
		}
	}
}

// ask sends one request, written as in play.
func (s *site) ask(line string) *httptest.ResponseRecorder {
	s.t.Helper()
	words := strings.Fields(line)
	at, err := time.ParseDuration(words[0])
	if err != nil {
		s.t.Fatal(err)
	}
	s.now = newYear.Add(at)
	form, header, from := url.Values{}, http.Header{}, "192.0.2.1"
	for _, w := range words[3:] {
		if name, value, ok := strings.Cut(w, "="); ok {
			form.Set(name, value)
			continue
		}
		switch name, value, _ := strings.Cut(w, ":"); name {
		case "from":
			from = value
		case "user":
			header.Set("X-Test-User", value)
		default:
			header.Add(name, value)
		}
	}
	r := httptest.NewRequest(words[1], words[2], strings.NewReader(form.Encode()))
	r.Header = header
	if len(form) > 0 {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.RemoteAddr = net.JoinHostPort(from, "1234")
	w := httptest.NewRecorder()
	s.page.ServeHTTP(w, r)
	return w
}
