package main

import (
	"fmt"
	"strings"
)

const limits = `
  policy    rate    for each              on
  api       5/s     client                every route
  login     5/15m   client and user name  POST /login
  reports   10/m    client                GET /reports/csv and /reports/pdf together

`

// introduce says what is limited and who will try it.
func (s *screen) introduce(lanes []*lane, to target) {
	fmt.Fprintf(s, "A Gin application on %s limits\n%s", to.url, limits)
	if to.byHeader {
		fmt.Fprint(s, "This system has a single loopback address. So the clients that send it real\nrequests are told apart by X-Api-Key instead:\n\n")
	} else {
		fmt.Fprint(s, "Clients send it real requests from their own addresses:\n\n")
	}
	for _, l := range lanes {
		fmt.Fprintf(s, "  %-9s %s  %s\n", l.name, l.addr, l.does)
	}
	fmt.Fprintln(s)
}

// results sums up, and shows one refusal in full.
func (s *screen) results(lanes []*lane) {
	fmt.Fprint(s, "\n            sent  let through  refused   promised                      kept\n")
	var guesser tally
	for _, l := range lanes {
		t := l.tally(nil)
		kept := s.paint(green, "yes")
		if !l.kept(t) {
			kept = s.paint(red, "NO")
		}
		fmt.Fprintf(s, "  %-9s %4d %12d %8d   %-29s %s\n", l.name, t.sent(), t.passed, t.refused, l.promise, kept)
		if l.name == "guesser" {
			guesser = t
		}
	}
	if text := strings.TrimSpace(guesser.refusal); text != "" {
		fmt.Fprintf(s, "\nThe first answer to guesser that was a refusal, word for word:\n\n%s\n", strings.ReplaceAll(text, "\r\n", "\n"))
	}
}

const next = `
Next:
  go run ./examples/demo -serve    try it yourself with curl
  examples/demo/app.go             the application, in one screen
  README.md                        how to limit yours
  make test                        all tests
`

// invite says what to type while the application keeps running.
func (s *screen) invite(to target) {
	fmt.Fprintf(s, `
The application keeps running. Try it from another terminal:

  curl -i %[1]s/
  for i in 1 2 3 4 5 6; do curl -s -o /dev/null -w '%%{http_code}\n' -d username=me %[1]s/login; done
`, to.url)
	if to.byHeader {
		fmt.Fprintf(s, "  curl -i -H 'X-Api-Key: another-client' %s/\n", to.url)
	} else {
		fmt.Fprintf(s, "  curl -i --interface 127.0.0.9 %s/    # as another client\n", to.url)
	}
	fmt.Fprint(s, "\nCtrl-C ends it.\n")
}
