package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gin-gonic/gin"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.TestMode)
	gin.DefaultWriter = io.Discard
	os.Exit(m.Run())
}

// The clock of a bubble stands still while there is a server: no window ends
// here by chance.
func TestReadmeShowsTheRealAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httptest.NewServer(newApp())
		defer s.Close()
		for range 5 {
			if answer := post(t, s, "/login"); !strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") {
				t.Fatalf("below the limit: %s", answer)
			}
		}
		got := timeless(post(t, s, "/login"))
		page, err := os.ReadFile("../../../README.md")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(timeless(string(page)), got) {
			t.Errorf("the README does not show this answer:\n%s", got)
		}
	})
}

func TestOtherRoutesHaveTheWiderLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httptest.NewServer(newApp())
		defer s.Close()
		for range 100 {
			if answer := post(t, s, "/nowhere"); !strings.HasPrefix(answer, "HTTP/1.1 404 ") {
				t.Fatalf("below the limit: %s", answer)
			}
		}
		if answer := post(t, s, "/nowhere"); !strings.HasPrefix(answer, "HTTP/1.1 429 ") {
			t.Errorf("over the limit: %s", answer)
		}
	})
}

// post answers the response as it came over the wire.
func post(t *testing.T, s *httptest.Server, path string) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	var raw strings.Builder
	resp, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &raw)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return raw.String()
}

var (
	date    = regexp.MustCompile(`(?m)^Date: .*$`)
	seconds = regexp.MustCompile(`(;t=|Retry-After: )\d+`)
)

// timeless leaves out what differs from one moment to the next.
func timeless(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return seconds.ReplaceAllString(date.ReplaceAllString(s, "Date: *"), "$1*")
}
