package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every check has samples in testdata/<check>/<case>: a small tree, and what
// the check says of it in findings.txt. A tree without that file is one that
// the check has nothing to say about; each check has both.
func TestChecks(t *testing.T) {
	for _, c := range checks {
		cases, err := filepath.Glob(filepath.Join("testdata", c.name, "*"))
		if err != nil {
			t.Fatal(err)
		}
		var good, bad int
		for _, dir := range cases {
			want, err := os.ReadFile(filepath.Join(dir, "findings.txt"))
			if os.IsNotExist(err) {
				good++
			} else {
				bad++
			}
			t.Run(c.name+"/"+filepath.Base(dir), func(t *testing.T) {
				if got := findingsOf(t, c, dir); got != string(want) {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			})
		}
		if good == 0 || bad == 0 {
			t.Errorf("check %s has %d good and %d bad samples, needs both", c.name, good, bad)
		}
	}
}

func findingsOf(t *testing.T, c check, dir string) string {
	t.Helper()
	tr, err := openTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range c.run(tr) {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

// What -write leaves behind passes the check, and a second time changes nothing.
func TestWriteMendsStaleSnippets(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/snippets/stale")); err != nil {
		t.Fatal(err)
	}
	snippets := checks[slices.IndexFunc(checks, func(c check) bool { return c.name == "snippets" })]
	var pages [2]string
	for i := range pages {
		tr, err := openTree(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeSnippets(tr); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		pages[i] = string(b)
	}
	if got := findingsOf(t, snippets, dir); got != "" {
		t.Errorf("after writing:\n%s", got)
	}
	if pages[0] != pages[1] {
		t.Errorf("writing twice:\n%s\nthen\n%s", pages[0], pages[1])
	}
	if want := "Before.\n"; !strings.HasPrefix(pages[0], want) || !strings.HasSuffix(pages[0], "After.\n") {
		t.Errorf("the prose around the snippets changed:\n%s", pages[0])
	}
	if !strings.Contains(pages[0], "\n   func main() {\n   \tprintln") {
		t.Errorf("the snippet in the list lost its indentation:\n%s", pages[0])
	}
}

// Anchors are those that the place where the pages are read makes of headings.
func TestAnchors(t *testing.T) {
	ids := anchors("# Limits, `one` by one\n## Twice\n## Twice\n```sh\n# not a heading\n```\n## [A link](x.md) & more\n<a id=\"own\"></a>\n")
	for _, want := range []string{"limits-one-by-one", "twice", "twice-1", "a-link--more", "own"} {
		if !ids[want] {
			t.Errorf("no anchor %q in %v", want, ids)
		}
	}
	if len(ids) != 5 {
		t.Errorf("got %d anchors, want 5: %v", len(ids), ids)
	}
}
