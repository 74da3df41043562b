package main

import (
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stint-go/stint/examples/internal/webtest"
)

func move(user, amount string) webtest.Request {
	return webtest.Request{Path: "/transfers", Form: url.Values{"amount": {amount}}, User: user, Password: user[:1]}
}

func TestTwoThousandADay(t *testing.T) {
	a := webtest.Start(t, newApp)
	if got := a.Want(1, 200, move("alice", "1500.00")).Body; got != "moved 1500.00, 500.00 left\n" {
		t.Errorf("%s", got)
	}
	refused := a.Want(1, 429, move("alice", "500.01"))
	if s := refused.Header.Get("Retry-After"); s == "" {
		t.Error("a refusal without Retry-After, though waiting helps")
	}
	a.Want(1, 200, move("alice", "500"))
	a.Want(1, 429, move("alice", "0.01"))
	a.Want(1, 200, move("bob", "2000.00")) // another user

	wait, err := strconv.Atoi(refused.Header.Get("Retry-After"))
	if err != nil || wait < 24*3600-1 || wait > 25*3600 {
		t.Fatalf("Retry-After: %q, want a day and at most an hour", refused.Header.Get("Retry-After"))
	}
	a.Wait(time.Duration(wait) * time.Second)
	a.Want(1, 200, move("alice", "500.01"))
}

func TestNeverMoreInAnyDay(t *testing.T) {
	a := webtest.Start(t, newApp)
	var moved []time.Duration // of 100.00 each
	for at := time.Duration(0); at < 72*time.Hour; at += 17 * time.Minute {
		if a.Send(move("alice", "100")).Status == 200 {
			moved = append(moved, at)
		}
		a.Wait(17 * time.Minute)
	}
	if len(moved) < 40 {
		t.Errorf("only %d transfers in three days", len(moved))
	}
	for i := range len(moved) - 20 {
		if moved[i+20]-moved[i] < 24*time.Hour {
			t.Fatalf("21 transfers from %v to %v: more than 2000.00 in a day", moved[i], moved[i+20])
		}
	}
}

func TestWhatIsLeftCostsNothing(t *testing.T) {
	a := webtest.Start(t, newApp)
	a.Want(1, 200, move("alice", "0.50"))
	got := a.Want(3, 200, webtest.Request{Path: "/transfers", User: "alice", Password: "a"}).Body
	if got != "1999.50 left\n" {
		t.Errorf("%s", got)
	}
}

func TestMoreThanADayCanEverBear(t *testing.T) {
	a := webtest.Start(t, newApp)
	if got := a.Want(1, 429, move("alice", "2000.01")); got.Header.Get("Retry-After") != "" {
		t.Errorf("Retry-After: %s, though no waiting helps", got.Header.Get("Retry-After"))
	}
	a.Want(1, 200, move("alice", "2000.00")) // the refusal cost nothing
}

func TestAmountsThatAreNone(t *testing.T) {
	a := webtest.Start(t, newApp)
	for _, s := range []string{"", "0", "0.00", "-1", "+1", "1.005", ".5", "1e3", "1,50", "12345678", "1.-5", "١"} {
		a.Want(1, 400, move("alice", s))
	}
	for s, want := range map[string]int64{"1": 100, "1.": 100, "1.5": 150, "0.05": 5, "007.10": 710} {
		if n, err := parse(s); n != want || err != nil {
			t.Errorf("%s: %d cents, %v; want %d", s, n, err, want)
		}
	}
	a.Want(1, 200, move("alice", "2000"))
}

func TestTenMessagesADay(t *testing.T) {
	a := webtest.Start(t, newApp)
	text := func(user string) webtest.Request {
		return webtest.Request{Path: "/sms", Form: url.Values{"to": {"555"}}, User: user, Password: user[:1]}
	}
	a.Want(1, 200, text("alice"))
	a.Wait(time.Hour)
	a.Want(9, 200, text("alice"))
	a.Want(1, 429, text("alice"))
	a.Want(1, 200, text("bob"))
	a.Wait(23*time.Hour - time.Microsecond)
	a.Want(1, 429, text("alice"))
	a.Wait(time.Microsecond)
	a.Want(1, 200, text("alice")) // the first one is exactly a day old
	a.Want(1, 429, text("alice"))
}

func TestAKeyHasABurstADayAndAWeek(t *testing.T) {
	a := webtest.Start(t, newApp)
	report := webtest.Request{Path: "/v1/report", Header: map[string]string{"X-Api-Key": "key-1"}}
	a.Want(20, 200, report)
	a.Want(500, 429, report) // beyond the burst; costs nothing of the day
	a.Wait(100 * time.Millisecond)
	a.Want(1, 200, report)
	a.Want(1, 429, report)

	spend := func(n int) { // n, as fast as the burst allows
		t.Helper()
		for range n {
			a.Wait(100 * time.Millisecond)
			a.Want(1, 200, report)
		}
	}
	spend(1000 - 21)
	a.Wait(time.Second)
	a.Want(1, 429, report)
	a.Want(1, 200, webtest.Request{Path: "/v1/report", Header: map[string]string{"X-Api-Key": "key-2"}})
	a.Want(1, 401, webtest.Request{Path: "/v1/report", Header: map[string]string{"X-Api-Key": "key-3"}})

	a.Wait(12 * time.Hour) // past midnight
	for range 4 {
		spend(1000)
		a.Want(1, 429, report)
		a.Wait(24 * time.Hour)
	}
	refused := a.Want(1, 429, report) // another day, but the week is used up
	if wait, _ := strconv.Atoi(refused.Header.Get("Retry-After")); wait < 3600 {
		t.Errorf("Retry-After: %d s, want what the week says", wait)
	}
}
