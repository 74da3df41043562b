package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
)

// The clock of a bubble stands still while there is a server: no window ends
// here by chance.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httptest.NewServer(newApp())
		defer s.Close()
		want := func(n, status int, path string) {
			t.Helper()
			for i := range n {
				resp, err := s.Client().Post(s.URL+path, "", nil)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
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
