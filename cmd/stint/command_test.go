package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// A decision is a line of --decisions.
type decision struct {
	At         float64 `json:"at_ms"`
	Key        *string
	Keys       []string
	Op         string
	Cost       int64
	Allowed    bool
	Limit      int64
	Remaining  int64
	RetryAfter *float64 `json:"retry_after_ms"`
	ResetAfter *float64 `json:"reset_after_ms"`
	Refunded   int64
	Policy     string
	Lane       string
	Error      string
}

// stint runs the command in this process.
func stint(t *testing.T, stdin string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &o, &e)
	return code, o.String(), e.String()
}

// decisions are what replay decides about a trace on standard input.
func decisions(t *testing.T, trace string, args ...string) (all []decision) {
	t.Helper()
	args = append([]string{"replay", "--decisions", "-", "--summary", "none"}, args...)
	code, out, errs := stint(t, trace, args...)
	if code != fine || errs != "" {
		t.Fatalf("%q: exit code %d: %s", args, code, errs)
	}
	for line := range strings.Lines(out) {
		var d decision
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, d)
	}
	return all
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
