package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stint-go/stint/internal/servers"
)

func start(t *testing.T) (base string) {
	t.Helper()
	app, err := newApp(servers.Memcached(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(app)
	t.Cleanup(s.Close)
	return s.URL
}

// ask sends a GET, or with a user name a POST of the form.
func ask(t *testing.T, url_ string, username ...string) (status int, body string) {
	t.Helper()
	var resp *http.Response
	var err error
	if len(username) > 0 {
		resp, err = http.PostForm(url_, url.Values{"username": username})
	} else {
		resp, err = http.Get(url_)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestPages(t *testing.T) {
	base := start(t)
	if _, body := ask(t, base+"/debug"); !strings.HasPrefix(body, "you: 0 of 20 pages") || strings.Contains(body, "rl:") {
		t.Errorf("before anything: %s", body)
	}
	for i := range 22 {
		want := http.StatusOK
		if i >= 20 {
			want = http.StatusTooManyRequests
		}
		if got, body := ask(t, base+"/page"); got != want {
			t.Fatalf("page %d: %d %s", i+1, got, body)
		}
	}
	// memcached leaves out of its list what it is about to move.
	status, body := ask(t, base+"/debug")
	for end := time.Now().Add(10 * time.Second); !strings.Contains(body, "rl:") && time.Now().Before(end); {
		status, body = ask(t, base+"/debug")
	}
	if status != http.StatusOK || !strings.HasPrefix(body, "you: 20 of 20 pages") {
		t.Errorf("debug: %d %s", status, body)
	}
	// The minute may have ended meanwhile.
	counted := 0
	for _, m := range regexp.MustCompile(`rl:1:\{[^}]+\}:pages:\S+#\d+ +(\d+)`).FindAllStringSubmatch(body, -1) {
		var n int
		fmt.Sscan(m[1], &n)
		counted += n
	}
	if counted != 20 { // full is full: refused requests count up to there
		t.Errorf("the counters sum up to %d:\n%s", counted, body)
	}
}

func TestLogin(t *testing.T) {
	base := start(t) + "/login"
	for range 30 {
		if got, body := ask(t, base); got != http.StatusOK || !strings.Contains(body, "<form method=post>") {
			t.Fatalf("the form: %d %s", got, body)
		}
	}
	for i := range 12 {
		want := http.StatusUnauthorized
		if i >= 10 {
			want = http.StatusTooManyRequests
		}
		if got, body := ask(t, base, "Alice"); got != want {
			t.Fatalf("attempt %d: %d %s", i+1, got, body)
		}
	}
	if got, _ := ask(t, base, "alice"); got != http.StatusTooManyRequests {
		t.Errorf("another spelling: %d", got)
	}
	if got, _ := ask(t, base, "bob"); got != http.StatusUnauthorized {
		t.Errorf("another name: %d", got)
	}
}

// A listening program tells where, and ends with its context and its server.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- run(ctx, []string{"-addr", "127.0.0.1:0"}, w); w.Close() }()
	var out strings.Builder
	for buf := make([]byte, 512); !strings.Contains(out.String(), "try /page"); {
		n, err := r.Read(buf)
		if err != nil {
			t.Fatal(err, <-done)
		}
		out.Write(buf[:n])
	}
	addrs := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(out.String(), -1)
	if len(addrs) != 2 {
		t.Fatalf("it says %s", &out)
	}
	if got, body := ask(t, "http://"+addrs[1]+"/page"); got != http.StatusOK {
		t.Errorf("%d %s", got, body)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, addr := range addrs {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			t.Errorf("%s outlived the program", addr)
		}
	}
}

func TestWithoutMemcached(t *testing.T) {
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, []string{"-memcached", "127.0.0.1:1"}, &out); err == nil {
		t.Error("a memcached that is not there is no error")
	}
	t.Setenv("PATH", "")
	if err := run(ctx, nil, &out); err == nil || !strings.Contains(err.Error(), "apt-get install -y memcached") {
		t.Error(err)
	}
}

func TestFlags(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "examples/memcached/app.go") {
		t.Errorf("-h: %v\n%s", err, &out)
	}
	for _, args := range [][]string{{"now"}, {"-fast"}, {"-memcached", "nowhere"}} {
		if err := run(t.Context(), args, &out); err == nil {
			t.Errorf("%q is no error", args)
		}
	}
}
