package main

import (
	"time"
)

// A client sends requests to the application, one after the other.
type client struct {
	name string
	addr string // the address it sends from
	does string // what it does, for the reader
	pace time.Duration
	// patient clients wait as long as Retry-After says.
	patient bool
	// request is the i-th one's method, path and, for POST, user name.
	request func(i int) (method, path, username string)

	promise string // what the limits owe it
	kept    func(tally) bool
}

// cast is who plays in the demo. What the limits promise holds for every
// schedule of requests, so it is kept on a slow machine too.
func cast() []client {
	return []client{{
		name: "reader", addr: "127.0.0.2", does: "GET /, 3 a second",
		pace: time.Second / 3, request: home,
		promise: "never refused", kept: neverRefused,
	}, {
		name: "crawler", addr: "127.0.0.3", does: "GET /, 10 a second",
		pace: time.Second / 10, request: home,
		promise: "5 at once, then 5 a second", kept: func(t tally) bool {
			most := 5 + int(t.ended.Sub(t.begun)/(time.Second/5)) // the bound of core.GCRA
			return t.passed >= min(5, t.sent()) && t.passed <= most
		},
	}, {
		name: "patient", addr: "127.0.0.4", does: "GET /, 10 a second, but waits when Retry-After tells it to",
		pace: time.Second / 10, patient: true, request: home,
		promise: "let through after each wait", kept: func(t tally) bool { return t.inVain == 0 },
	}, {
		name: "guesser", addr: "127.0.0.5", does: "POST /login as root, 10 a second",
		pace: time.Second / 10, request: login("root"),
		promise: "exactly 5", kept: exactly(5),
	}, {
		name: "alice", addr: "127.0.0.5", does: "same address: POST /login as alice, then GET /, 1 a second",
		pace: time.Second, request: func(i int) (string, string, string) {
			if i == 0 {
				return login("alice")(i)
			}
			return home(i)
		},
		promise: "never refused", kept: neverRefused,
	}, {
		name: "exporter", addr: "127.0.0.6", does: "GET /reports/csv and /reports/pdf in turn, 5 a second",
		pace: time.Second / 5, request: func(i int) (string, string, string) {
			return "GET", []string{"/reports/csv", "/reports/pdf"}[i%2], ""
		},
		promise: "exactly 10 of both together", kept: exactly(10),
	}}
}

func home(int) (method, path, username string) { return "GET", "/", "" }

func login(as string) func(int) (string, string, string) {
	return func(int) (string, string, string) { return "POST", "/login", as }
}

func neverRefused(t tally) bool { return t.refused == 0 }

func exactly(n int) func(tally) bool {
	return func(t tally) bool { return t.passed == min(n, t.sent()) }
}
