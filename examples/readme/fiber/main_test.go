package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/gofiber/fiber/v2"
)

// The clock of a bubble stands still while there is a server: no window ends
// here by chance.
func TestLimits(t *testing.T) {
	// fasthttp's clock for Date never ends: it starts here, outside of the bubble.
	if _, err := fiber.New().Test(httptest.NewRequest("GET", "/", nil)); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		app := newApp()
		want := func(n, status int, path string) {
			t.Helper()
			for i := range n {
				resp, err := app.Test(httptest.NewRequest("POST", path, nil))
				if err != nil {
					t.Fatal(err)
				}
				if resp.StatusCode != status {
					t.Fatalf("request %d to %s: %s, want %d", i+1, path, resp.Status, status)
				}
			}
		}
		want(5, http.StatusOK, "/login")
		want(1, http.StatusTooManyRequests, "/login")
		want(94, http.StatusNotFound, "/nowhere")
		want(1, http.StatusTooManyRequests, "/nowhere")
	})
}
