package clientlimit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// A server answers with what it is told to, and notes when it is asked.
type server struct {
	status int
	header http.Header
	mu     sync.Mutex
	asked  []time.Time
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, time.Now())
	s.mu.Unlock()
	return &http.Response{StatusCode: s.status, Header: s.header, Body: http.NoBody, Request: r}, nil
}

func waiter(t *testing.T, rate string) *core.Waiter {
	t.Helper()
	l, err := core.New(core.Config{Backend: memory.New(),
		Policies: []core.Policy{{Name: "calls", Rate: rate, Strategy: core.GCRA{Burst: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := l.Waiter("calls")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func get(t *testing.T, c *http.Client, url string) *http.Response {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// Requests keep to the rate, each host to its own.
func TestTransportKeepsToItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: 200}
		c := &http.Client{Transport: &Transport{Base: s, Waiter: waiter(t, "2/s")}}
		began := time.Now()
		for range 3 {
			get(t, c, "http://one.example/")
		}
		get(t, c, "http://two.example/")
		for i, want := range []time.Duration{0, 500 * time.Millisecond, time.Second, time.Second} {
			if at := s.asked[i].Sub(began); at != want {
				t.Errorf("request %d was sent after %v", i+1, at)
			}
		}
	})
}

// What servers ask for, and how long the next request waits.
func TestTransportObeysServers(t *testing.T) {
	for _, test := range []struct {
		status int
		fields string // name: value, one per line
		wait   time.Duration
	}{
		{200, "", 0},
		{429, "Retry-After: 7", 7 * time.Second},
		{503, "Retry-After: 7", 7 * time.Second},
		{429, "Retry-After: 0", 0},
		{200, "Retry-After: 7", 0}, // means nothing there
		{429, "Retry-After: Sat, 01 Jan 2000 00:01:00 GMT", time.Minute},
		{429, "Retry-After: Fri, 31 Dec 1999 00:00:00 GMT", 0},
		{429, "Retry-After: soon", 0},
		{429, "Retry-After: -1", 0},
		{429, "Retry-After: 1.5", 0},
		{429, "Retry-After: 99999999999999999999", 0},
		{429, "Retry-After: 999999", time.Hour}, // MaxWait
		{200, `RateLimit: "api";r=0;t=9`, 9 * time.Second},
		{200, `RateLimit: "api";r=1;t=9`, 0},
		{200, `RateLimit: "api";r=0`, 0},
		{200, `RateLimit: "a";r=0;t=3, "b";r=0;t=5, "c";r=9;t=99`, 5 * time.Second},
		{200, "RateLimit: \"a\";r=0;t=3\nRateLimit: \"b\";r=0;t=5", 5 * time.Second},
		{429, "RateLimit: \"a\";r=0;t=9\nRetry-After: 3", 3 * time.Second},
		{429, "RateLimit: \"a\";r=0;t=9\nRetry-After: soon", 9 * time.Second},
		{200, `RateLimit: a;r=0;t=9`, 0}, // no string
		{200, `RateLimit: "a";r=0;t=9.5`, 0},
		{200, `RateLimit: "a";r=0;t=-9`, 0},
		{200, `RateLimit: "a";r="0";t=9`, 0},
		{200, `RateLimit: ("a");r=0;t=9`, 0},
		{200, `RateLimit: "a;r=0;t=9`, 0},
		{429, "Retry-After: 7\nAge: 5", 0},
	} {
		t.Run(fmt.Sprintf("%d %s", test.status, test.fields), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{status: test.status, header: http.Header{}}
				for line := range strings.Lines(test.fields) {
					name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
					s.header.Add(name, value)
				}
				c := &http.Client{Transport: &Transport{Base: s}}
				get(t, c, "http://one.example/")
				s.header = nil
				get(t, c, "http://two.example/") // is not concerned
				get(t, c, "http://one.example/")
				if wait := s.asked[1].Sub(s.asked[0]); wait != 0 {
					t.Errorf("another host waited %v", wait)
				}
				if wait := s.asked[2].Sub(s.asked[0]); wait != test.wait {
					t.Errorf("waited %v, not %v", wait, test.wait)
				}
			})
		})
	}
}

// A body that tells when it is closed.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

// A deadline before the pause's end is an error at once; one that comes while
// waiting is one then. Neither is sent.
func TestTransportGivesUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: 429, header: http.Header{"Retry-After": {"60"}}}
		tr := &Transport{Base: s}
		get(t, &http.Client{Transport: tr}, "http://one.example/")
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 59*time.Second)
		defer cancel()
		b := &body{Reader: strings.NewReader("x")}
		r, err := http.NewRequestWithContext(ctx, "POST", "http://one.example/", b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.RoundTrip(r); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1m0s") || time.Now() != began || !b.closed {
			t.Errorf("%v after %v, closed %v", err, time.Since(began), b.closed)
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := tr.RoundTrip(r.WithContext(ctx)); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if len(s.asked) != 1 {
			t.Errorf("%d requests were sent", len(s.asked))
		}
	})
}

// A pause that another request prolongs is waited for in full.
func TestTransportWaitsForTheLongerPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: 200}
		tr := &Transport{Base: s}
		key := core.NewKey("host", "one.example")
		tr.pauses.set(key, time.Second)
		time.AfterFunc(500*time.Millisecond, func() { tr.pauses.set(key, 2*time.Second) })
		time.AfterFunc(600*time.Millisecond, func() { tr.pauses.set(key, time.Second) })
		began := time.Now()
		get(t, &http.Client{Transport: tr}, "http://one.example/")
		if waited := s.asked[0].Sub(began); waited != 2500*time.Millisecond {
			t.Errorf("waited %v", waited)
		}
	})
}

// Those whose turn came during a pause do not all go when it is over.
func TestTransportKeepsToItsRateAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: 200}
		tr := &Transport{Base: s, Waiter: waiter(t, "1/s")}
		time.AfterFunc(500*time.Millisecond, func() { tr.pauses.set(core.NewKey("host", "one.example"), 10*time.Second) })
		began := time.Now()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { get(t, &http.Client{Transport: tr}, "http://one.example/") })
		}
		all.Wait()
		for i, at := range s.asked[1:] {
			if i == 0 && at.Sub(began) < 10500*time.Millisecond {
				t.Errorf("a request was sent during the pause, after %v", at.Sub(began))
			}
			if i > 0 && at.Sub(s.asked[i]) < time.Second {
				t.Errorf("two requests within %v", at.Sub(s.asked[i]))
			}
		}
		if took := time.Since(began); took > 16*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// Servers can not fill the memory.
func TestTransportForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pauses
		for i := range 3 * maxPauses {
			p.set(core.NewKey("host", fmt.Sprint(i)), time.Hour)
		}
		if n := len(p.until); n > maxPauses {
			t.Errorf("%d pauses", n)
		}
		time.Sleep(2 * time.Hour)
		for i := range maxPauses {
			p.set(core.NewKey("host", fmt.Sprint("new", i)), time.Hour)
		}
		for key, end := range p.until {
			if time.Now().After(end) {
				t.Fatalf("%v is over and still there", key)
			}
		}
	})
}

// Against a real server that limits with this library: the request after the
// refusal would come too late, and is not sent.
func TestTransportAgainstALimiter(t *testing.T) {
	asked := 0
	limited := httplimit.Limit("1/d")(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		limited.ServeHTTP(w, r)
	}))
	defer s.Close()
	c := &http.Client{Transport: &Transport{MaxWait: 24 * time.Hour}, Timeout: 10 * time.Second}
	if resp := get(t, c, s.URL); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	if _, err := c.Get(s.URL); !errors.Is(err, context.DeadlineExceeded) || asked != 1 {
		t.Errorf("%v, and the server was asked %d times", err, asked)
	}
}
