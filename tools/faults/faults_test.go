package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRowsAreAsManyAsStated(t *testing.T) {
	if faults, attacks := len(kinds[0].rows), len(kinds[1].rows); faults != 52 || attacks != 34 {
		t.Errorf("%d faults and %d attacks", faults, attacks)
	}
}

func TestTestsAreFoundByName(t *testing.T) {
	path := write(t, "a_test.go", "package a\n\nfunc TestFault_A5(t *T) {}\nfunc TestFault_A5Pipelines(t *T) {}\nfunc TestAttack_E10(t *T) {}\nfunc TestOther(t *T) {}\n")
	found, err := findTests(filepath.Dir(path))
	if err != nil || len(found) != 1 || len(found[0].tests) != 3 {
		t.Fatalf("%v, %v", found, err)
	}
	for i, row := range []string{"A5", "A5", "E10"} {
		if found[0].tests[i].row != row {
			t.Errorf("%s is of row %s", found[0].tests[i].name, found[0].tests[i].row)
		}
	}
	for _, wrong := range []string{"TestFault_A20", "TestAttack_F6", "TestFault_E1"} {
		path := write(t, "a_test.go", "package a\n\nfunc "+wrong+"(t *T) {}\n")
		if _, err := findTests(filepath.Dir(path)); err == nil {
			t.Errorf("%s is taken for a row", wrong)
		}
	}
}

func TestReasonsAreRead(t *testing.T) {
	reasons, err := readReasons(write(t, "missing.txt", "# why\nG3 there is none\n"))
	if err != nil || reasons["G3"] != "there is none" {
		t.Errorf("%v, %v", reasons, err)
	}
	for _, bad := range []string{"G3\n", "G12 no such row\n"} {
		if _, err := readReasons(write(t, "missing.txt", bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// A row passes only when each of its tests has passed each time, and so has the
// package as a whole.
func TestRowsCountWhenAllHolds(t *testing.T) {
	p := &pkg{dir: "p", tests: []test{{"TestFault_A1", "A1"}, {"TestFault_A1More", "A1"}}}
	for name, c := range map[string]struct {
		result result
		want   string
	}{
		"all":     {result{pass: map[string]int{"TestFault_A1": 2, "TestFault_A1More": 2}}, "faults survived 1/1"},
		"once":    {result{pass: map[string]int{"TestFault_A1": 2, "TestFault_A1More": 1}}, "faults survived 0/1"},
		"skipped": {result{pass: map[string]int{"TestFault_A1": 2}, failed: map[string]bool{"TestFault_A1More": true}}, "faults survived 0/1"},
		"broken":  {result{pass: map[string]int{"TestFault_A1": 2, "TestFault_A1More": 2}, broken: true}, "faults survived 0/1"},
	} {
		b := board{wanted: func(row string) bool { return row == "A1" }}
		b.add(p, &c.result, 2)
		var out strings.Builder
		if problems := b.print(&out); !strings.Contains(out.String(), c.want) || (problems == 0) != (name == "all") {
			t.Errorf("%s: %d problems\n%s", name, problems, out.String())
		}
	}
}
