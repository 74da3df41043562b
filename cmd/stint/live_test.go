package main

import (
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	memcachedlimit "github.com/stint-go/stint/backends/memcached"
	redislimit "github.com/stint-go/stint/backends/redis"
	"github.com/stint-go/stint/cmd/stint/internal/trace"
	"github.com/stint-go/stint/core"
	"github.com/stint-go/stint/internal/servers"
	"github.com/stint-go/stint/policyfile"
)

const liveFile = `prefix: "shop:"
policies:
  - {name: api, rate: 100/h; 3/d, strategy: moving-window, methods: [POST]}
  - {name: login, rate: 2/h, strategy: moving-window, key: ip+post:username, on_change: reset}
  - {name: user, rate: 1/h, key: user, missing: refuse, mode: annotate}
  - {name: free, rate: none}
`

// An application limits by a file on a real store, and the command looks into it.
func TestLookingIntoALiveRedis(t *testing.T) {
	server := servers.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { client.Close() })
	// The application remembers no refusals: what the command lifts is noticed at once.
	backend, err := redislimit.New(client, redislimit.Options{Timeout: patience, DenyCache: -1})
	if err != nil {
		t.Fatal(err)
	}
	testLooks(t, "redis://"+server.Addr(), backend)
	testBans(t, "redis://"+server.Addr(), backend)
	if left := server.Do("dbsize"); left != "0" {
		t.Errorf("%s keys are left, want none", left)
	}
}

func TestLookingIntoALiveMemcached(t *testing.T) {
	server := servers.Memcached(t)
	backend, err := memcachedlimit.New([]string{server.Addr()}, memcachedlimit.Options{Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { backend.Close() })
	testLooks(t, "memcached://"+server.Addr(), backend)
	testBans(t, "memcached://"+server.Addr(), backend)
}

func testLooks(t *testing.T, url string, backend core.Backend) {
	dir := t.TempDir()
	file, secretFile := filepath.Join(dir, "limits.yaml"), filepath.Join(dir, "secret")
	write(t, file, liveFile)
	write(t, secretFile, "sixteen bytes at least\n")
	app := application(t, file, backend, "sixteen bytes at least")
	bob := &trace.Entry{Verb: "POST", Client: netip.MustParseAddr("203.0.113.7"), Form: []trace.Field{{Name: "username", Value: "bob"}}, UserName: "bob"}
	for range 2 {
		if _, err := app.AllowRequest(bob); err != nil {
			t.Fatal(err)
		}
	}
	look := func(stdin, command string, args ...string) (int, string) {
		t.Helper()
		args = append([]string{command, "-p", file, "-b", url, "--secret-file", secretFile}, args...)
		code, out, errs := stint(t, stdin, args...)
		if errs != "" {
			t.Fatal(errs)
		}
		return code, out
	}
	who := []string{"--ip", "203.0.113.7", "--form", "username=bob", "--user", "bob"}

	code, out := look("", "peek", who...)
	for _, want := range []string{`api +100/h +100 +98 `, `api +3/d +3 +1 `, `login +2/h +2 +0 `, `user +1/h +1 +0 .* annotates`, `free +no limit`} {
		if code != fine || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("peek: exit code %d, want %q in\n%s", code, want, out)
		}
	}
	code, out = look("", "why", who...)
	for _, want := range []string{`api: would pass`, `login: refused by 2/h: 0 remain, the next passes in (1h0m0s|59m\d+s), at 20`, `user: over 1/h, but it only annotates`, `free: would pass`} {
		if code != no || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("why: exit code %d, want 1 and %q in\n%s", code, want, out)
		}
	}
	if code, out = look("", "why", "--policy", "login", "--ip", "203.0.113.8"); code != fine || !strings.Contains(out, "login: would pass") {
		t.Errorf("why, of somebody else: exit code %d: %s", code, out)
	}
	if code, out = look("", "peek", "--user", "bob"); !strings.Contains(out, "counts by ip+post:username: say who") || !strings.Contains(out, "counts by ip: say who") {
		t.Errorf("peek without an address: exit code %d: %s", code, out)
	}

	only := append([]string{"--policy", "login"}, who...)
	for _, answer := range []string{"", "n\n", "maybe\n"} {
		if code, out = look(answer, "reset", only...); code != no || !strings.Contains(out, "Forget this? [y/N]") {
			t.Errorf("reset, answered %q: exit code %d: %s", answer, code, out)
		}
	}
	if d, err := app.PeekRequest(bob); err != nil || d.Allowed {
		t.Errorf("a reset that was not confirmed: %+v %v", d, err)
	}
	if code, out = look("y\n", "reset", only...); code != fine || !strings.Contains(out, "forgotten under login") {
		t.Errorf("reset: exit code %d: %s", code, out)
	}
	if d, err := app.PeekRequest(bob); err != nil || !d.Allowed {
		t.Errorf("after the reset: %+v %v, want it allowed", d, err)
	}
	if code, out = look("", "reset", append(who, "--yes")...); code != fine || strings.Contains(out, "[y/N]") {
		t.Errorf("reset --yes: exit code %d: %s", code, out)
	}
}

// application is the Limiter of an application.
func application(t *testing.T, file string, backend core.Backend, secret string) *core.Limiter {
	t.Helper()
	limits, err := policyfile.Open(file, core.Config{Backend: backend, User: trace.User, Secret: []byte(secret)}, policyfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return limits.Limiter()
}

func TestWrongUseOfLooks(t *testing.T) {
	server := servers.Redis(t)
	file := filepath.Join(t.TempDir(), "limits.yaml")
	write(t, file, liveFile)
	for args, says := range map[string]string{
		"-b redis://" + server.Addr():                                         `"policies" not set`,
		"-p " + file:                                                          `"backend" not set`,
		"-p none.yaml -b redis://" + server.Addr():                            "no such file",
		"-p " + file + " -b memory":                                           "inside the application",
		"-p " + file + " -b redis://127.0.0.1:1":                              "does not answer",
		"-p " + file + " -b redis://" + server.Addr() + " --ip x":             "unable to parse IP",
		"-p " + file + " -b redis://" + server.Addr() + " --header x":         "write name=value",
		"-p " + file + " -b redis://" + server.Addr() + " --policy other":     `no policy "other"`,
		"-p " + file + " -b redis://" + server.Addr() + " --secret-file none": "no such file",
	} {
		for _, command := range []string{"peek", "why", "reset", "ban", "unban"} {
			if code, _, errs := stint(t, "", append([]string{command}, strings.Fields(args)...)...); code != wrong || !strings.Contains(errs, says) {
				t.Errorf("%s %s: exit code %d, %s; want 2 and %q", command, args, code, errs, says)
			}
		}
	}
	if code, _, errs := stint(t, "", "reset", "-y", "-p", file, "-b", "redis://"+server.Addr(), "--policy", "api"); code != wrong || !strings.Contains(errs, "say who") {
		t.Errorf("a reset of nobody: exit code %d, %s", code, errs)
	}
	banning := filepath.Join(t.TempDir(), "banning.yaml")
	write(t, banning, banFile)
	for _, c := range []struct{ args, says string }{
		{"-p " + file, "has no policy with a ban: add one"},
		{"-p " + banning + " --policy api,login", `"api" has no ban: add one`},
		{"-p " + banning, "say who"},
		{"-p " + banning + " --ip 203.0.113.7", "say who"},
	} {
		for _, command := range []string{"ban", "unban"} {
			args := append([]string{command, "-y", "-b", "redis://" + server.Addr()}, strings.Fields(c.args)...)
			if code, _, errs := stint(t, "", args...); code != wrong || !strings.Contains(errs, c.says) {
				t.Errorf("%q: exit code %d, %s; want 2 and %q", args, code, errs, c.says)
			}
		}
	}
	for length, says := range map[string]string{"0s": "write for example", "-1h": "write for example", "10000h": "1ms to", "soon": "invalid argument"} {
		args := []string{"ban", "-y", "-p", banning, "-b", "redis://" + server.Addr(), "--ip", "203.0.113.7", "--user", "bob", "--for", length}
		if code, _, errs := stint(t, "", args...); code != wrong || !strings.Contains(errs, says) {
			t.Errorf("%q: exit code %d, %s; want 2 and %q", args, code, errs, says)
		}
	}
	if left := server.Do("dbsize"); left != "0" {
		t.Errorf("%s keys are left by wrong use, want none", left)
	}
}
