package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stint-go/stint/internal/servers"
)

// The program starts itself again, as a process of the application.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
		return
	}
	os.Exit(m.Run())
}

func ran(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, &out)
	return out.String(), err
}

func TestTwoProcessesShareOneLimit(t *testing.T) {
	for name, args := range map[string][]string{
		"a server of its own":  nil,
		"a server that exists": {"-redis", "redis://" + servers.Redis(t).Addr()},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := ran(t, args...)
			if err != nil || strings.Count(out, ": 200 OK") != limit || strings.Count(out, ": 429 Too") != limit ||
				!strings.Contains(out, "process 1 let 5 through and refused 5") || !strings.Contains(out, "process 2 let 5 through and refused 5") {
				t.Errorf("%v\n%s", err, out)
			}
			for _, addr := range regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(out, -1) {
				if c, err := net.Dial("tcp", addr); err == nil {
					c.Close()
					t.Errorf("%s outlived the program", addr)
				}
			}
		})
	}
}

func TestMemoryIsNotShared(t *testing.T) {
	out, err := ran(t, "-memory")
	if err != nil || strings.Count(out, ": 200 OK") != 2*limit || !strings.Contains(out, "together 20: twice the limit") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A program that is always content would prove nothing.
func TestBrokenPromiseIsFound(t *testing.T) {
	var out bytes.Buffer
	if err := perform(t.Context(), &out, "", limit); err == nil || !strings.Contains(err.Error(), "20 requests were let through, want 10") {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestMissingRedisSaysHowToInstallIt(t *testing.T) {
	t.Setenv("PATH", "")
	if _, err := ran(t); err == nil || !strings.Contains(err.Error(), "apt-get install -y redis-server") {
		t.Error(err)
	}
}

func TestRedisThatCannotBeUsed(t *testing.T) {
	secret := servers.RedisUnready(t, "--requirepass", "sesame")
	for url, want := range map[string]string{
		"127.0.0.1:6379":             "-redis 127.0.0.1:6379",
		"redis://" + secret.Addr():   "NOAUTH",
		"redis://127.0.0.1:1/?db=zz": "invalid database",
	} {
		if out, err := ran(t, "-redis", url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\n%s", url, err, out)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if err := run(ctx, []string{"-redis", "redis://127.0.0.1:1"}, &out); err == nil {
		t.Error("a Redis that is not there is no error")
	}
}

func TestFlags(t *testing.T) {
	if out, err := ran(t, "-h"); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out, "examples/redis/app.go") {
		t.Errorf("-h: %v\n%s", err, out)
	}
	for _, args := range [][]string{{"now"}, {"-fast"}, {"-memory", "-redis", "redis://127.0.0.1:6379"}} {
		if _, err := ran(t, args...); err == nil {
			t.Errorf("%q is no error", args)
		}
	}
}
