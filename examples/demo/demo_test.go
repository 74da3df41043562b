package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

func TestTheLimitsKeepTheirPromises(t *testing.T) {
	sources := map[bool]core.KeySource{true: core.ByHeader("X-Api-Key")}
	if severalAddresses() {
		sources[false] = core.ByIP
	}
	for byHeader, client := range sources {
		t.Run(client.String(), func(t *testing.T) {
			t.Parallel()
			app, err := newApp(client)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := perform(t.Context(), newScreen(&out), app, byHeader, 3*time.Second, false); err != nil {
				t.Error(err)
			}
			for _, want := range []string{"HTTP/1.1 429 Too Many Requests", "\nRetry-After: 900\n", `Ratelimit-Policy: "api";q=5;w=1, "login";q=5;w=900`,
				`"violated-policies":["login"]}`, "Next:"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in what was shown", want)
				}
			}
			if strings.ContainsAny(out.String(), "\x1b\r") || strings.Contains(out.String(), "NO\n") {
				t.Errorf("not plain, or not content:\n%s", &out)
			}
		})
	}
}

// A demo that is always content would prove nothing.
func TestBrokenLimitsAreFound(t *testing.T) {
	answer := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	for status, disappointed := range map[int][]string{
		200: {"guesser"},
		429: {"reader", "crawler", "guesser", "alice", "exporter"},
		500: {"reader", "crawler", "patient", "guesser", "alice", "exporter"},
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			err := perform(t.Context(), newScreen(io.Discard), answer(status), true, time.Second, false)
			for _, name := range disappointed {
				if err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("an application that always answers %d disappoints %s, and nobody noticed: %v", status, name, err)
				}
			}
		})
	}
}

func TestACrawlerIsHeldToTheBound(t *testing.T) {
	var crawler client
	for _, c := range cast() {
		if c.name == "crawler" {
			crawler = c
		}
	}
	saw := func(passed, refused int, length time.Duration) tally {
		begun := time.Unix(0, 0)
		return tally{passed: passed, refused: refused, begun: begun, ended: begun.Add(length)}
	}
	for _, c := range []struct {
		tally
		kept bool
	}{
		{saw(35, 25, 6*time.Second), true},
		{saw(36, 24, 6*time.Second), false},
		{saw(5, 1, time.Second/10), true},
		{saw(6, 0, time.Second/10), false},
		{saw(4, 2, time.Second), false},
		{saw(3, 0, time.Second), true},
	} {
		if kept := crawler.kept(c.tally); kept != c.kept {
			t.Errorf("%d of %d let through: kept %v, want %v", c.passed, c.sent(), kept, c.kept)
		}
	}
}

// A reaction is a writer that calls f with all that was written so far.
type reaction struct {
	mu   sync.Mutex
	text string
	f    func(text string)
}

func (r *reaction) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text += string(p)
	r.f(r.text)
	return len(p), nil
}

func TestServeKeepsRunningUntilInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	status := 0
	out := &reaction{f: func(text string) {
		if !strings.HasSuffix(text, "Ctrl-C ends it.\n") {
			return
		}
		url := regexp.MustCompile(`curl -i (http://\S+)`).FindStringSubmatch(text)[1]
		if resp, err := http.Get(url); err == nil {
			status = resp.StatusCode
			resp.Body.Close()
		}
		interrupt()
	}}
	if err := run(ctx, []string{"-for", "1s", "-serve"}, out); err != nil {
		t.Fatal(err)
	}
	if status != 200 || !strings.HasSuffix(out.text, "\nstopped\n") {
		t.Errorf("the application answered %d; want 200, and then the end:\n%s", status, out.text)
	}
}

func TestInterruptedIsNoFailure(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	out := &reaction{f: func(text string) {
		if strings.Contains(text, "one column is") {
			interrupt()
		}
	}}
	if err := run(ctx, []string{"-for", "1h"}, out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.text, "\nstopped\n") || strings.Contains(out.text, "promised") {
		t.Errorf("want the end and no judgement:\n%s", out.text)
	}
}

func TestLanes(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(ms int, passed bool) mark { return mark{begin.Add(time.Duration(ms) * time.Millisecond), passed} }
	lanes := []*lane{{client: client{name: "reader"}}, {client: client{name: "crawler"}}}
	lanes[0].seen = tally{passed: 2, refused: 2, marks: []mark{
		at(0, true), at(150, false), at(900, true), at(901, false), // a pass is not hidden
	}}
	lanes[1].seen = tally{refused: 1, marks: []mark{at(5000, false)}} // after the end: in the last column

	var out strings.Builder
	s := &screen{Writer: &out, columns: 10}
	want := "" +
		"  reader   ●×·······●    2 let through   2 refused\n" +
		"  crawler  ·········×    0 let through   1 refused\n"
	s.draw(lanes, begin, time.Second)
	if out.String() != want {
		t.Errorf("drew\n%swant\n%s", &out, want)
	}
	s.redraw = true
	s.draw(lanes, begin, time.Second)
	if out.String() != want+"\x1b[2F"+want {
		t.Errorf("drew over it\n%q", &out)
	}
	out.Reset()
	s.colour = true
	s.draw(lanes, begin, time.Second)
	if text := out.String(); !strings.Contains(text, "\x1b[32m●\x1b[0m\x1b[31m×\x1b[0m·") {
		t.Errorf("in colour: %q", text)
	}
}

func TestFlags(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "examples/demo/app.go") {
		t.Errorf("-h: %v\n%s", err, &out)
	}
	for _, args := range [][]string{{"-for", "0s"}, {"-for", "soon"}, {"now"}, {"-fast"}} {
		if err := run(t.Context(), args, &out); err == nil {
			t.Errorf("%q is no error", args)
		}
	}
}
