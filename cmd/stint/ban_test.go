package main

import (
	"net/netip"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stint-go/stint/cmd/stint/internal/trace"
	"github.com/stint-go/stint/core"
)

const banFile = `prefix: "bans:"
policies:
  - {name: api, rate: 100/h, strategy: moving-window}
  - name: login
    rate: 1/h
    strategy: moving-window
    key: ip+user
    missing: refuse
    on_change: reset
    ban: {after: 2, within: 10m, for: 3h}
    overrides: [{match: {user: carol}, times: 5, until: 2100-01-01T00:00:00Z}]
`

// The command bans, sees and lifts what an application on the same store obeys
// and begins.
func testBans(t *testing.T, url string, backend core.Backend) {
	file := filepath.Join(t.TempDir(), "limits.yaml")
	write(t, file, banFile)
	app := application(t, file, backend, "")
	request := func(user string) *trace.Entry {
		return &trace.Entry{Verb: "POST", Client: netip.MustParseAddr("203.0.113.7"), UserName: user}
	}
	who := []string{"--ip", "203.0.113.7", "--user", "bob"}
	run := func(stdin string, code int, want, command string, args ...string) {
		t.Helper()
		got, out, errs := stint(t, stdin, append([]string{command, "-p", file, "-b", url}, args...)...)
		if got != code || errs != "" || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s %q: exit code %d, %s; want %d and %q in\n%s", command, args, got, errs, code, want, out)
		}
	}
	banned := func(user string, want bool) {
		t.Helper()
		if d, err := app.PeekRequest(request(user)); err != nil || d.Banned != want {
			t.Errorf("%s is banned: %v, %v, want %v", user, d.Banned, err, want)
		}
	}
	const until = `until 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC`

	run("", fine, `login +ban after 2/10m +2 +2 +- +- +not banned`, "peek", who...)
	for _, answer := range []string{"", "n\n"} {
		run(answer, no, `not banned\n\nBan\? \[y/N\]`, "ban", who...)
		banned("bob", false)
	}
	run("y\n", fine, `Ban\? \[y/N\] \nbanned under login\n$`, "ban", append(who, "--for", "48h")...)
	banned("bob", true)
	banned("eve", false)
	run("", fine, `login +ban after 2/10m +2 +0 +(48h0m0s|47h59m\d+s) .* banned `+until, "peek", who...)
	run("", no, `api: would pass\nlogin: banned for another (48h0m0s|47h59m\d+s), `+until+`\n$`, "why", who...)
	run("", fine, `banned under login`, "ban", append(who, "--yes")...) // in place of the other, as long as the file says
	run("", no, `login: banned for another (3h0m0s|2h59m\d+s), `, "why", who...)
	run("n\n", no, `Lift the ban\? \[y/N\]`, "unban", who...)
	banned("bob", true)
	run("y\n", fine, `lifted under login`, "unban", who...)
	banned("bob", false)
	run("", fine, `login: would pass`, "why", who...)
	run("", fine, `banned under login`, "ban", "-y", "--policy", "login", "--ip", "203.0.113.7", "--user", "carol") // whose rate is another
	banned("carol", true)
	run("", fine, `forgotten under `, "reset", "-y", "--ip", "203.0.113.7", "--user", "carol")
	banned("carol", false)

	for range 2 { // the second is refused: a strike
		if _, err := app.AllowRequest(request("bob")); err != nil {
			t.Fatal(err)
		}
	}
	run("", fine, `login +ban after 2/10m +2 +1 .* not banned`, "peek", who...)
	run("", no, `login: refused by 1/h: .*\n$`, "why", who...) // looks are no strikes
	if d, err := app.AllowRequest(request("bob")); err != nil || !d.Banned {
		t.Errorf("the second strike: %+v, %v, want a ban", d, err)
	}
	run("", no, `login: banned for another (3h0m0s|2h59m\d+s), `, "why", who...)
	run("", fine, `lifted under login`, "unban", append(who, "-y")...)
	banned("bob", false)
	run("", no, `login: refused by 1/h: `, "why", who...) // what was consumed stays
	run("", fine, `forgotten under api, login`, "reset", append(who, "-y")...)
	if d, err := app.AllowRequest(request("bob")); err != nil || !d.Allowed {
		t.Errorf("after all: %+v, %v, want it allowed", d, err)
	}
	run("", fine, `forgotten under api, login`, "reset", append(who, "-y")...)
}
