package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func TestHealth(t *testing.T) {
	for _, c := range []struct {
		key    core.KeySource
		status int
		body   string
	}{
		{core.ByIP, 200, ""},
		{core.ByHeader("X-Api-Key"), 500, "key-chosen-by-client: policy pages: it counts by header:X-Api-Key alone"},
	} {
		l, err := core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{{Name: "pages", Rate: "10/m", Key: c.key}}})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		health(l).ServeHTTP(w, httptest.NewRequest("GET", "/limits", nil))
		if w.Code != c.status || !strings.HasPrefix(w.Body.String(), c.body) || (c.body == "") != (w.Body.Len() == 0) {
			t.Errorf("%v: status %d, %q", c.key, w.Code, w.Body)
		}
	}
}

// The backend is down.
func TestHealthSaysWhatItCouldNotLookAt(t *testing.T) {
	l, err := core.New(core.Config{Backend: down{memory.New()}, Secret: make([]byte, 16), Fallback: memory.New(),
		Policies: []core.Policy{{Name: "pages", Rate: "10/m"}}})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	health(l).ServeHTTP(w, httptest.NewRequest("GET", "/limits", nil))
	if w.Code != 500 || !strings.Contains(w.Body.String(), errDown.Error()) {
		t.Errorf("status %d, %q", w.Code, w.Body)
	}
}

var errDown = errors.New("nobody at home")

type down struct{ core.Backend }

func (down) Take(context.Context, int64, []core.Ask, []core.Verdict) (int64, error) {
	return 0, errDown
}
