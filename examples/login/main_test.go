package main

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
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

// Every ban is twice as long as the one before, up to a day.
func TestPatienceDoesNotHelp(t *testing.T) {
	for _, attack := range []struct {
		names int
		want  []int // tried on each day
	}{{1, []int{50, 10, 10}}, {1000, []int{300, 60, 60}}} {
		a := start(t, false)
		for day, want := range attack.want {
			tried := 0
			for range 24 * 4 { // quarters of an hour
				tried += a.guess(attack.want[0]/10+1, 1, attack.names).tried
				a.Wait(15 * time.Minute)
			}
			if tried != want {
				t.Errorf("%d guesses on day %d from one address for %d names, want %d", tried, day+1, attack.names, want)
			}
		}
	}
}

func TestOnlyFailuresCount(t *testing.T) {
	a := start(t, false)
	for range 50 {
		if got := a.try("192.0.2.1", "alice", "correct horse", ""); got.Status != http.StatusOK {
			t.Fatalf("alice: %d, want to be let in as often as she likes", got.Status)
		}
	}
	for range 3 { // she mistypes it, and is forgiven when it is right
		for range 4 {
			a.try("192.0.2.1", "alice", "correct house", "")
		}
		if got := a.try("192.0.2.1", "alice", "correct horse", ""); got.Status != http.StatusOK {
			t.Errorf("alice: %d", got.Status)
		}
	}
}

// A login of his own does not buy an attacker further guesses at others.
func TestAnAccountOfOnesOwnDoesNotHelp(t *testing.T) {
	a := start(t, false)
	tried := 0
	for i := range 100 {
		if a.try("198.51.100.1", fmt.Sprint("user", i), "guess", "").Status == http.StatusUnauthorized {
			tried++
		}
		a.try("198.51.100.1", "bob", "battery staple", "")
	}
	if tried != 30 {
		t.Errorf("%d guesses, want 30", tried)
	}
}

// Whatever strangers do elsewhere, the door at her usual address stays open.
func TestABanLocksNobodyElseOut(t *testing.T) {
	a := start(t, false)
	for range 4 { // an hour, in which the attacker is banned
		a.guess(10, 1, 1)
		a.Wait(15 * time.Minute)
	}
	if got := a.try("198.51.0.0", "alice", "correct horse", ""); got.Status != http.StatusTooManyRequests ||
		!strings.Contains(got.Body, core.ProblemAbnormalUsage) {
		t.Errorf("the attacker, with the right password: %d %s, want to see him banned", got.Status, got.Body)
	}
	if got := a.try("192.0.2.1", "alice", "correct horse", ""); got.Status != http.StatusOK {
		t.Errorf("alice: %d, want to be let in", got.Status)
	}
	if got := a.try("198.51.0.0", "bob", "battery staple", ""); got.Status != http.StatusOK {
		t.Errorf("bob, at the attacker's address: %d, want to be let in", got.Status)
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

func TestABanByNameLetsStrangersLockAUserOut(t *testing.T) {
	a := start(t, true)
	if got := a.guess(20, 4, 1); got.tried != 20 { // four machines are enough
		t.Fatalf("%+v", got)
	}
	for _, wait := range []time.Duration{0, 23 * time.Hour} {
		a.Wait(wait)
		if got := a.try("192.0.2.1", "alice", "correct horse", "7"); got.Status != http.StatusTooManyRequests {
			t.Errorf("alice, after %v: %d; want to see her locked out", wait, got.Status)
		}
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
