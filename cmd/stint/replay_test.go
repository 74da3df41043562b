package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-go/stint/internal/servers"
)

const small = `{"at_ms":0,"key":"a"}
{"at_ms":0.5,"key":"a","cost":2}
{"at_ms":1,"key":"a"}
{"at_ms":1,"key":"a","cost":9}
{"at_ms":2,"key":"a","op":"peek","cost":1}
{"at_ms":2,"key":"a","op":"refund","cost":1}
{"at_ms":59999.999,"keys":["a","b\u00fc"],"cost":2}
{"at_ms":60000,"keys":["a","b\u00fc"],"cost":2}
{"at_ms":60000,"ip":"::ffff:192.0.2.1"}
`

const smallDecided = `{"at_ms":0,"key":"a","cost":1,"allowed":true,"limit":3,"remaining":2,"retry_after_ms":0,"reset_after_ms":60000}
{"at_ms":0.5,"key":"a","cost":2,"allowed":true,"limit":3,"remaining":0,"retry_after_ms":0,"reset_after_ms":59999.5}
{"at_ms":1,"key":"a","cost":1,"allowed":false,"limit":3,"remaining":0,"retry_after_ms":59999,"reset_after_ms":59999}
{"at_ms":1,"key":"a","cost":9,"allowed":false,"limit":3,"remaining":0,"retry_after_ms":null,"reset_after_ms":59999}
{"at_ms":2,"key":"a","op":"peek","cost":1,"allowed":false,"limit":3,"remaining":0,"retry_after_ms":59998,"reset_after_ms":59998}
{"at_ms":2,"key":"a","op":"refund","cost":1,"allowed":true,"limit":3,"remaining":1,"retry_after_ms":0,"reset_after_ms":59998,"refunded":1}
{"at_ms":59999.999,"keys":["a","bü"],"cost":2,"allowed":false,"limit":3,"remaining":1,"retry_after_ms":0.001,"reset_after_ms":0.001}
{"at_ms":60000,"keys":["a","bü"],"cost":2,"allowed":true,"limit":3,"remaining":1,"retry_after_ms":0,"reset_after_ms":60000}
{"at_ms":60000,"key":"192.0.2.1","cost":1,"allowed":true,"limit":3,"remaining":2,"retry_after_ms":0,"reset_after_ms":60000}
`

// Every figure of every decision, on each backend.
func TestDecisionsWordForWord(t *testing.T) {
	server := servers.Redis(t)
	for _, backend := range []string{"memory", "redis://" + server.Addr(), "memcached://" + servers.Memcached(t).Addr()} {
		file := filepath.Join(t.TempDir(), "out.jsonl")
		code, _, errs := stint(t, small, "replay", "--rate", "3/m", "--strategy", "fixed-window", "--align", "first", "--backend", backend, "--decisions", file)
		if code != fine {
			t.Fatalf("%s: exit code %d: %s", backend, code, errs)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != smallDecided {
			t.Errorf("%s decided\n%swant\n%s", backend, got, smallDecided)
		}
	}
	if left := server.Do("dbsize"); left != "0" {
		t.Errorf("%s keys are left in Redis, want none", left)
	}
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	os.WriteFile(good, []byte("policies: [{name: api, rate: 100/m}]"), 0o600)
	os.WriteFile(bad, []byte("policies:\n  - {name: api, rate: 100/m, brust: 5}\n"), 0o600)
	for _, c := range []struct {
		args, says string
		code       int
	}{
		{"replay --rate 100/m", "8 requests", fine},
		{"replay --policies " + good, "8 requests", fine},
		{"replay --rate 1/m", "refused", fine},
		{"replay --rate 100/m --fail-on-refused", "", fine},
		{"replay --rate 1/m --fail-on-refused", "", no},
		{"replay --rate 100/m --strict", "", fine},
		{"replay --rate 100/x", "unknown unit", wrong},
		{"replay --rate 100/m --strategy leaky", "unknown strategy", wrong},
		{"replay --rate 100/m --burst 5", "burst belongs to gcra", wrong},
		{"replay --rate 100/m --strategy gcra --align clock", "leave it out", wrong},
		{"replay --rate 100/m --key foo", "unknown word", wrong},
		{"replay --rate 100/m --format iis", "unknown format", wrong},
		{"replay --rate 100/m --format nginx --strict", "no time", wrong},
		{"replay --rate 100/m --summary xml", "table, json or none", wrong},
		{"replay --rate 100/m --backend mysql://x", "use memory", wrong},
		{"replay --rate 100/m --backend redis://127.0.0.1:1", "does not answer", wrong},
		{"replay --rate 100/m --backend memcached://127.0.0.1:1", "does not answer", wrong},
		{"replay --rate 100/m --backend memcached:x", "memcached://host:11211", wrong},
		{"replay --rate 100/m --sort -1s", "0 or more", wrong},
		{"replay --rate 100/m " + dir, "is a directory", wrong},
		{"replay --rate 100/m none.log", "no such file", wrong},
		{"replay", "no policy", wrong},
		{"replay --policies none.yaml", "no such file", wrong},
		{"replay --policies " + bad, `did you mean "burst"?`, wrong},
		{"replay --rat 1/m", "unknown flag", wrong},
		{"reply", "unknown command", wrong},
		{"check " + good, "fine, 1 policy", fine},
		{"check " + good + " " + bad, `bad.yaml:2: unknown field "brust" in a policy: did you mean "burst"?`, no},
		{"check none.yaml", "no such file", wrong},
		{"check", "requires at least 1 arg", wrong},
		{"", "stint replay --rate", fine},
		{"completion bash", "bash completion", fine},
	} {
		code, out, errs := stint(t, small[:strings.LastIndex(small, `{"at_ms":60000,"ip"`)], strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("stint %s: exit code %d, want %d, saying %q:\n%s%s", c.args, code, c.code, c.says, out, errs)
		}
	}
}

func TestBrokenLinesAreShownWithTheirNumbers(t *testing.T) {
	trace := small + "\nnonsense\n{\"at_ms\":-1}\n"
	code, out, _ := stint(t, trace, "replay", "--rate", "100/m")
	for _, want := range []string{"9 requests", "2 lines could not be read", "standard input:11: not JSON: nonsense", `standard input:12: instant "-1"`} {
		if code != fine || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want 0 and %q in\n%s", code, want, out)
		}
	}
	code, _, errs := stint(t, trace, "replay", "--rate", "100/m", "--strict")
	if code != wrong || !strings.Contains(errs, "standard input: line 11: not JSON") {
		t.Errorf("strict: exit code %d, %s", code, errs)
	}
}

func TestSummaryForPrograms(t *testing.T) {
	code, out, errs := stint(t, small+"nonsense\n", "replay", "--rate", "3/m", "--rate", "100/m", "--strategy", "moving-window", "--summary", "json")
	var s struct {
		Requests, Allowed, Refused, Broken, Differ, Keys int64
		BrokenLines                                      []struct{ Line int } `json:"broken_lines"`
		Lanes                                            []struct {
			Name           string
			Refused, Looks int64
			Top            []struct{ Key string }
		}
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != fine {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, errs)
	}
	if s.Requests != 7 || s.Allowed != 4 || s.Refused != 3 || s.Broken != 1 || s.Differ != 3 || s.Keys != 3 || s.BrokenLines[0].Line != 10 ||
		len(s.Lanes) != 2 || s.Lanes[0].Name != "3/m" || s.Lanes[1].Refused != 0 || s.Lanes[1].Looks != 1 || s.Lanes[0].Top[0].Key != "a" {
		t.Errorf("%+v", s)
	}
}

func TestStrategiesSideBySide(t *testing.T) {
	trace := `{"at_ms":59000,"key":"a","cost":2}
{"at_ms":60000,"key":"a","cost":2}
`
	ds := decisions(t, trace, "--rate", "2/m", "--strategy", "fixed-window,moving-window", "--align", "clock")
	if len(ds) != 4 || ds[2].Lane != "fixed-window" || !ds[2].Allowed || ds[3].Lane != "moving-window" || ds[3].Allowed {
		t.Errorf("%+v", ds)
	}
	code, out, errs := stint(t, trace, "replay", "--rate", "2/m", "--strategy", "all", "--align", "clock")
	if code != fine || !strings.Contains(out, "They differ in 1 requests") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

func TestSeveralPoliciesSpeakByName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limits.yaml")
	os.WriteFile(file, []byte("policies: [{name: second, rate: 1/s}, {name: hour, rate: 2/h, strategy: moving-window}]"), 0o600)
	ds := decisions(t, `{"at_ms":0,"key":"a"}
{"at_ms":10,"key":"a"}
{"at_ms":5000,"key":"a"}
{"at_ms":9000,"key":"a"}
`, "--policies", file)
	got := ""
	for _, d := range ds {
		if !d.Allowed {
			got += d.Policy + " "
		}
	}
	if got != "second hour " {
		t.Errorf("refused by %q: %+v", got, ds)
	}
}

// An interrupted run says what it has, and leaves nothing behind.
func TestInterrupted(t *testing.T) {
	server := servers.Redis(t)
	in, feed := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs strings.Builder
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"replay", "--rate", "100/m", "--backend", "redis://" + server.Addr(), "--format", "jsonl"}, in, &out, &errs)
	}()
	for range 100 {
		if _, err := io.WriteString(feed, strings.Repeat(small, 20)); err != nil {
			t.Fatal(err)
		}
	}
	for server.Do("dbsize") == "0" { // until it has begun
	}
	cancel()
	if code := <-done; code != wrong || !strings.Contains(out.String(), "Interrupted. So far:") {
		t.Errorf("exit code %d: %s%s", code, out.String(), errs.String())
	}
	feed.Close()
	if left := server.Do("dbsize"); left != "0" {
		t.Errorf("%s keys are left in Redis, want none", left)
	}
}

func TestProgressSaysHowFarAndHowLong(t *testing.T) {
	if got, want := barLine(50, 100, 1_234_567, 2e9), "███████████████░░░░░░░░░░░░░░░  50 %  1,234,567 requests, 617,283 a second, 2s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := barLine(50, 0, 10, 2e9), "10 requests, 5 a second"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
