package fiberlimit_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	fiberlimit "github.com/stint-go/stint/adapters/fiber"
	"github.com/stint-go/stint/core"
)

func TestBodyStays(t *testing.T) {
	for name, config := range map[string]fiber.Config{
		"buffered": {}, "streamed": {StreamRequestBody: true},
	} {
		t.Run(name, func(t *testing.T) {
			var stream bool
			app := newApp(config)
			l := limiter(t, core.Policy{Name: "login", Rate: "1/d", Key: core.ByForm("user")})
			app.Post("/", fiberlimit.New(l), func(c *fiber.Ctx) error {
				if !stream {
					return c.SendString(sum(c.Request().Body()))
				}
				body, err := io.ReadAll(c.Context().RequestBodyStream())
				if err != nil {
					return err
				}
				return c.SendString(sum(body))
			})
			url := "http://" + serve(t, app)
			for i, tc := range []struct {
				user    string
				pad     int
				chunked bool
				status  int
			}{
				{"alice", 0, false, 200},
				{"bobby", 60_000, false, 200},
				{"carol", 60_000, true, 200},
				{"alice", 60_000, false, 429},
				{"bobby", 0, true, 429},
				{"david", 66_000, false, 413},
				{"erika", 66_000, true, 413},
			} {
				stream = config.StreamRequestBody && i%2 == 0
				form := "user=" + tc.user + "&pad=" + strings.Repeat("x", tc.pad)
				r, body := post(t, url, form, tc.chunked)
				if r.StatusCode != tc.status || tc.status == 200 && body != sum([]byte(form)) {
					t.Errorf("request %d: %s %q, want %d", i, r.Status, body, tc.status)
				}
			}
		})
	}
}

// post sends a form on a connection of its own.
func post(t *testing.T, url, form string, chunked bool) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest("POST", url, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if chunked {
		r.ContentLength = -1
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// A body that was encoded is judged as it came. Fiber's own Body would decode it.
func TestEncodedBody(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	io.WriteString(w, `{"email":"a@example.org"}`)
	w.Close()
	app := newApp()
	app.Post("/json", fiberlimit.New(limiter(t, core.Policy{Name: "p", Rate: "1/d", By: "json:email"})), ok)
	app.Post("/raw", func(c *fiber.Ctx) error {
		body, err := fiberlimit.Request(c).Body(1 << 10)
		return c.SendString(fmt.Sprint(bytes.Equal(body, zipped.Bytes()), err))
	})
	c := dial(t, app)
	if r, _ := c.send("POST /json\r\nContent-Encoding: gzip\r\n", zipped.String()); r.StatusCode != 415 {
		t.Errorf("gzip: %s", r.Status)
	}
	if _, body := c.send("POST /raw\r\nContent-Encoding: gzip\r\n", zipped.String()); body != "true <nil>" {
		t.Errorf("raw: %s", body)
	}
}

func TestMultipart(t *testing.T) {
	const media = "\r\nContent-Type: multipart/form-data; boundary=b\r\n"
	part := func(name, value string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
	}
	for name, config := range map[string]fiber.Config{
		"parsed": {}, "not parsed": {DisablePreParseMultipartForm: true},
		"streamed": {StreamRequestBody: true, DisablePreParseMultipartForm: true},
	} {
		t.Run(name, func(t *testing.T) {
			app := newApp(config)
			app.Post("/", fiberlimit.New(limiter(t, core.Policy{Name: "p", Rate: "1/d", By: "post:user"})), func(c *fiber.Ctx) error {
				return c.SendString(c.FormValue("user") + " " + c.FormValue("more"))
			})
			c := dial(t, app)
			for i, user := range []string{"alice", "bobby", "alice"} {
				r, body := c.send("POST /"+media, part("user", user)+part("more", "stuff")+part("user", "again")+"--b--\r\n")
				if i < 2 && body != user+" stuff" || i == 2 && r.StatusCode != 429 {
					t.Errorf("request %d: %s %q", i, r.Status, body)
				}
			}
			if r, _ := c.send("POST /"+media, part("user", strings.Repeat("x", 70_000))+"--b--\r\n"); r.StatusCode != 413 {
				t.Errorf("a large body: %s", r.Status)
			}
		})
	}
}

// What is left of a streamed body that nobody reads is not the next request.
func TestRefusedStreamIsNoRequest(t *testing.T) {
	app := newApp(fiber.Config{StreamRequestBody: true})
	app.Post("/", fiberlimit.Limit("0/s"), ok)
	app.Get("/next", ok)
	c := dial(t, app)
	r, _ := c.send("POST /", strings.Repeat("x", 8<<10)+"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if next, body := c.send("GET /next"); r.StatusCode != 429 || next.StatusCode != 200 || body != "fine" {
		t.Errorf("%s, then %s %s", r.Status, next.Status, body)
	}

	h := app.Handler()
	for size, closes := range map[int64]bool{200 << 10: false, 300 << 10: true} {
		c := new(fasthttp.RequestCtx)
		c.Request.SetRequestURI("/")
		c.Request.Header.SetMethod("POST")
		c.Request.SetBodyStream(io.LimitReader(zeros{}, size), -1)
		c.SetRemoteAddr(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)})
		if h(c); c.Response.StatusCode() != 429 || c.Response.ConnectionClose() != closes {
			t.Errorf("%d bytes: status %d, closes %v", size, c.Response.StatusCode(), c.Response.ConnectionClose())
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// A handler that asks about a streamed body too large to judge can not mistake
// what is left of it for the whole.
func TestLostStream(t *testing.T) {
	var peek, read error
	app := newApp(fiber.Config{StreamRequestBody: true})
	app.Post("/", func(c *fiber.Ctx) error {
		_, peek = fiberlimit.Request(c).Body(100)
		_, read = io.ReadAll(c.Context().RequestBodyStream())
		return nil
	})
	c := dial(t, app)
	for range 2 { // on one connection
		r, _ := c.send("POST /\r\nTransfer-Encoding: chunked\r\n\r\nC8\r\n" + strings.Repeat("x", 200) + "\r\n0\r\n")
		if !errors.Is(peek, core.ErrBodyTooLarge) || !errors.Is(read, core.ErrBodyTooLarge) || r.StatusCode != 200 {
			t.Errorf("Body: %v, then reading: %v; %s", peek, read, r.Status)
		}
	}
}
