package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Bugs can be planted: each has its text in its file once, a name of its own, and
// tests of that name.
func TestTargetsAreThere(t *testing.T) {
	t.Chdir("../..")
	names := map[string]bool{}
	for _, m := range all() {
		text, err := os.ReadFile(m.file)
		if err != nil {
			t.Error(err)
		} else if n := strings.Count(string(text), m.old); n != 1 || m.old == m.new {
			t.Errorf("%s: %s has the text to replace %d times", m.name, m.file, n)
		}
		if names[m.name] || m.from == "" || m.what == "" || m.run == "" {
			t.Errorf("%s: told twice, or not told whose it is, or what it does", m.name)
		}
		names[m.name] = true
	}
	if len(names) < 40 {
		t.Errorf("%d bugs, want 40 at least", len(names))
	}
}

func TestRed(t *testing.T) {
	for out, want := range map[string][]string{
		"=== RUN\n--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/b (0.1s)\nFAIL\n": {"TestA"},
		"panic: test timed out after 2m0s\n\tTestA (2m0s)\n":                    {"panic: test timed out after 2m0s"},
		"# pkg\n./a.go:1:1: syntax error\nFAIL\tpkg [build failed]\n":           nil,
		"FAIL\tpkg\n": nil,
	} {
		if got, err := red(out); !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v", out, got, err)
		}
	}
}
