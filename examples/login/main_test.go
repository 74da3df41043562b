package main

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/stint-go/stint/examples/internal/webtest"
)

// An app is the application behind a proxy, which tells it the addresses.
type app struct{ *webtest.App }

func start(t *testing.T, hard bool) app {
	return app{webtest.Start(t, func(now func() time.Time) (http.Handler, error) {
		return newApp(options{proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, hard: hard, now: now})
	})}
}

// try sends one login.
func (a app) try(address, name, password, captcha string) webtest.Answer {
	a.Helper()
	return a.Send(webtest.Request{
		Path:   "/login",
		Form:   url.Values{"username": {name}, "password": {password}, "captcha": {captcha}},
		Header: map[string]string{"X-Forwarded-For": address},
	})
}

// An outcome counts what became of guesses.
type outcome struct{ tried, refused, captcha int }

// guess sends n wrong passwords from so many addresses for so many names.
func (a app) guess(n, addresses, names int) (o outcome) {
	a.Helper()
	for i := range n {
		address := fmt.Sprintf("198.51.%d.%d", i%addresses/250, i%addresses%250)
		name := "alice"
		if names > 1 {
			name = fmt.Sprintf("user%d", i%names)
		}
		switch answer := a.try(address, name, "guess", ""); answer.Status {
		case http.StatusUnauthorized:
			o.tried++
		case http.StatusTooManyRequests:
			o.refused++
		case http.StatusForbidden:
			o.captcha++
		default:
			a.Fatalf("guess %d: %d\n%s", i, answer.Status, answer.Body)
		}
	}
	return o
}

func TestWhatPassesOfEachAttack(t *testing.T) {
	for _, attack := range []struct {
		text             string
		addresses, names int
		want             outcome // of 1000 guesses at once
	}{
		{"one address, one name", 1, 1, outcome{tried: 5, refused: 995}},
		{"one address, many names", 1, 1000, outcome{tried: 30, refused: 970}},
		{"many addresses, one name", 1000, 1, outcome{tried: 20, captcha: 980}},
		{"many addresses, many names", 1000, 1000, outcome{tried: 300, captcha: 700}},
	} {
		t.Run(attack.text, func(t *testing.T) {
			if got := start(t, false).guess(1000, attack.addresses, attack.names); got != attack.want {
				t.Errorf("%+v, want %+v", got, attack.want)
			}
		})
	}
}

func TestPatienceDoesNotHelp(t *testing.T) {
	a := start(t, false)
	tried := 0
	for range 24 * 4 { // a day of quarters of an hour
		tried += a.guess(6, 1, 1).tried
		a.Wait(15 * time.Minute)
	}
	if tried != 20 {
		t.Errorf("%d guesses in a day from one address for one name, want 20", tried)
	}
}

func TestSpellingsOfANameAreOneName(t *testing.T) {
	a := start(t, false)
	tried := 0
	for _, name := range []string{"alice", "Alice", "ALICE", " alice", "alicE ", "aLICE", "AlicE"} {
		if a.try("192.0.2.1", name, "guess", "").Status == http.StatusUnauthorized {
			tried++
		}
	}
	if tried != 5 {
		t.Errorf("%d guesses, want 5", tried)
	}
}

func TestTheSoftBlockLocksNobodyOut(t *testing.T) {
	a := start(t, false)
	a.guess(100, 100, 1)
	right, wrong := a.try("192.0.2.1", "alice", "correct horse", ""), a.try("192.0.2.2", "alice", "guess", "")
	if right.Status != http.StatusForbidden || right.Status != wrong.Status || right.Body != wrong.Body {
		t.Errorf("without the captcha the right password gets %d %q, a wrong one %d %q; want the same", right.Status, right.Body, wrong.Status, wrong.Body)
	}
	if got := a.try("192.0.2.1", "alice", "correct horse", "7"); got.Status != http.StatusOK {
		t.Errorf("alice, with a captcha: %d, want to be let in", got.Status)
	}
	if got := a.try("192.0.2.1", "bob", "battery staple", ""); got.Status != http.StatusOK {
		t.Errorf("bob: %d, want to be left alone", got.Status)
	}
}

func TestAHardBlockByNameLetsStrangersLockAUserOut(t *testing.T) {
	a := start(t, true)
	if got := a.guess(20, 4, 1); got.tried != 20 { // four machines are enough
		t.Fatalf("%+v", got)
	}
	if got := a.try("192.0.2.1", "alice", "correct horse", "7"); got.Status != http.StatusTooManyRequests {
		t.Errorf("alice: %d; want to see her locked out", got.Status)
	}
	a.Wait(time.Hour)
	a.guess(20, 4, 1) // and again, for as long as they like
	if got := a.try("192.0.2.1", "alice", "correct horse", "7"); got.Status != http.StatusTooManyRequests {
		t.Errorf("alice, an hour later: %d; want to see her locked out", got.Status)
	}
}

func TestOneMachineCanNotRaiseTheAlarm(t *testing.T) {
	a := start(t, false)
	a.guess(1000, 1, 1000)
	a.guess(1000, 1, 1)
	if got := a.try("192.0.2.1", "alice", "correct horse", ""); got.Status != http.StatusOK {
		t.Errorf("alice: %d, want to be let in without a captcha", got.Status)
	}
}
