package ancestors

import (
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	httplimit "github.com/stint-go/stint/adapters/http"
	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func ok(http.ResponseWriter, *http.Request) {}

func get(h http.Handler, target string) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
	return w.Code
}

func TestDjangoDecorator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := ok
		// region decorator
		mux := http.NewServeMux()
		mux.Handle("GET /slow", httplimit.Limit("4/h")(http.HandlerFunc(slow)))
		// endregion
		for range 4 {
			if code := get(mux, "/slow"); code != 200 {
				t.Fatal(code)
			}
		}
		if code := get(mux, "/slow"); code != 429 {
			t.Fatal(code)
		}
	})
}

func TestDjangoGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := http.HandlerFunc(ok), http.HandlerFunc(ok)
		backend := memory.New()
		// region group
		expensive, err := core.New(core.Config{
			Backend:  backend,
			Policies: []core.Policy{{Name: "expensive", Rate: "10/h"}},
		})
		if err != nil {
			log.Fatal(err)
		}
		limited := httplimit.New(expensive)
		mux := http.NewServeMux()
		mux.Handle("GET /a", limited(a))
		mux.Handle("GET /b", limited(b)) // counts together with /a
		// endregion
		for range 5 {
			if x, y := get(mux, "/a"), get(mux, "/b"); x != 200 || y != 200 {
				t.Fatal(x, y)
			}
		}
		if code := get(mux, "/b"); code != 429 {
			t.Fatal(code)
		}
	})
}

func TestDjangoNoGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := http.HandlerFunc(ok), http.HandlerFunc(ok)
		// region nogroup
		l, err := core.New(core.Config{
			Backend:  memory.New(),
			Policies: []core.Policy{{Name: "views", Rate: "2/h", By: "ip+route"}},
		})
		if err != nil {
			log.Fatal(err)
		}
		limited := httplimit.New(l)
		mux := http.NewServeMux()
		mux.Handle("GET /a/{id}", limited(a)) // 2/h
		mux.Handle("GET /b/{id}", limited(b)) // 2/h of its own
		// endregion
		for _, q := range []struct {
			target string
			want   int
		}{{"/a/1", 200}, {"/a/2", 200}, {"/a/3", 429}, {"/b/1", 200}, {"/b/1", 200}, {"/b/1", 429}} {
			if code := get(mux, q.target); code != q.want {
				t.Errorf("%s: %d, want %d", q.target, code, q.want)
			}
		}
	})
}

func TestDjangoKeys(t *testing.T) {
	// region keys
	keys := []core.Policy{
		{Name: "ip", Rate: "5/m", By: "ip"}, // as without By
		{Name: "get", Rate: "5/m", By: "get:q"},
		{Name: "post", Rate: "5/m", By: "post:username"},
		{Name: "header", Rate: "5/m", By: "header:X-Api-Key"},
		{Name: "user", Rate: "5/m", By: "user"}, // Config.User says who that is
		{Name: "user-or-ip", Rate: "5/m", By: "user_or_ip"},
		{Name: "callable", Rate: "5/m", Key: core.ByFunc("tenant", tenant)},
	}
	// endregion
	for i, timeline := range []string{
		`0s GET / -> 200 x5
		 0s GET / -> 429
		 0s GET / from:192.0.2.2 -> 200`,
		`0s GET /?q=go -> 200 x5
		 0s GET /?q=go from:192.0.2.2 -> 429
		 0s GET /?q=c -> 200`,
		`0s POST / username=bob -> 200 x5
		 0s POST / username=bob from:192.0.2.2 -> 429
		 0s POST / username=eve -> 200`,
		`0s GET / X-Api-Key:a -> 200 x5
		 0s GET / X-Api-Key:a -> 429
		 0s GET / X-Api-Key:b -> 200`,
		`0s GET / user:bob -> 200 x5
		 0s GET / user:bob from:192.0.2.2 -> 429
		 0s GET / user:eve -> 200`,
		`0s GET / user:bob -> 200 x5
		 0s GET / user:bob -> 429
		 0s GET / -> 200 x5
		 0s GET / -> 429
		 0s GET / user:192.0.2.1 -> 200`,
		`0s GET / X-Api-Key:acme.1 from:192.0.2.1 -> 200 x5
		 0s GET / X-Api-Key:acme.2 from:192.0.2.2 -> 429
		 0s GET / X-Api-Key:other.1 -> 200`,
	} {
		open(t, keys[i]).play(timeline)
	}
}

// region tenant
// tenant is whom an API key such as "acme.7f3a" belongs to.
func tenant(r core.Request) string {
	name, _, _ := strings.Cut(r.Header("X-Api-Key"), ".")
	return name
}

// endregion

func TestDjangoMissingValue(t *testing.T) {
	// region missing
	ours := core.Policy{Name: "search", Rate: "2/m", By: "get:q"}
	django := core.Policy{Name: "search", Rate: "2/m", By: "get:q", Missing: core.MissingShare}
	// endregion
	open(t, ours).play(`
		0s GET / -> 200 x2
		0s GET / -> 429
		0s GET / from:192.0.2.2 -> 200`)
	open(t, django).play(`
		0s GET / -> 200 x2
		0s GET / from:192.0.2.2 -> 429`)
}

func TestDjangoSameValueFromTwoPlaces(t *testing.T) {
	// region either
	search := core.Policy{Name: "search", Rate: "5/m", By: "as(q,first(get:q,post:q))"}
	// endregion
	open(t, search).play(`
		0s GET /?q=go -> 200 x3
		0s POST / q=go -> 200 x2
		0s GET /?q=go -> 429
		0s POST / q=go -> 429
		0s POST / q=c -> 200`)
}

func TestDjangoMethod(t *testing.T) {
	// region method
	post := core.Policy{Name: "post", Rate: "1/m", Methods: []string{"POST"}}
	unsafe := core.Policy{Name: "unsafe", Rate: "1/m", Methods: core.Unsafe}
	// endregion
	open(t, post).play(`
		0s GET / -> 200 x3
		0s POST / -> 200
		0s POST / -> 429
		0s PUT / -> 200`)
	open(t, unsafe).play(`
		0s GET / -> 200 x3
		0s POST / -> 200
		0s PUT / -> 429
		0s PATCH / -> 429
		0s DELETE / -> 429`)
}

func TestDjangoAnnotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var captchas int
		// region annotate
		l, err := core.New(core.Config{
			Backend:  memory.New(),
			Policies: []core.Policy{{Name: "login", Rate: "5/m", Mode: core.Annotate}},
		})
		if err != nil {
			log.Fatal(err)
		}
		login := httplimit.New(l)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if d, _ := httplimit.Decision(r); d.Limited {
				captchas++ // ask for more than the password
			}
		}))
		// endregion
		for range 7 {
			if code := get(login, "/"); code != 200 {
				t.Fatal(code)
			}
		}
		if captchas != 2 {
			t.Errorf("%d of 7 requests were limited, want 2", captchas)
		}
	})
}

func TestDjangoStacked(t *testing.T) {
	// region burst
	burst := core.Policy{Name: "burst", Rate: "10/s; 100/m", By: "user_or_ip"}
	// endregion
	open(t, burst).play(`
		0s GET / -> 200 x10
		0s GET / -> 429
		2s GET / -> 200 x10
		2s GET / -> 429`)

	// region stacked
	both := []core.Policy{
		{Name: "name", Rate: "5/m", By: "post:username"},
		{Name: "tenant", Rate: "8/m", By: "post:tenant"},
	}
	// endregion
	s := open(t, both...)
	s.play(`
		0s POST / username=bob tenant=acme -> 200 x5
		0s POST / username=bob tenant=acme -> 429 x100
		0s POST / username=eve tenant=acme -> 200 x3
		0s POST / username=eve tenant=acme -> 429`)
}

func TestDjangoCost(t *testing.T) {
	// region cost
	export := core.Policy{Name: "export", Rate: "100/h", Cost: 25}
	// endregion
	open(t, export).play(`
		0s GET / -> 200 x4
		0s GET / -> 429`)
}
