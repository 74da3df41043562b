package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A pkg is a directory with tests of rows.
type pkg struct {
	dir   string
	tests []test
}

type test struct{ name, row string }

var testFunc = regexp.MustCompile(`(?m)^func (Test(Fault|Attack)_([A-Z][0-9]+)\w*)\(`)

// findTests looks through the test files below root. A name that claims a row
// which is not there, or one of the other kind, is an error.
func findTests(root string) ([]*pkg, error) {
	found := map[string]*pkg{}
	var errs []error
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			name, word, row := m[1], m[2], m[3]
			if want := kindOf(row); want != word {
				errs = append(errs, fmt.Errorf("%s: %s: row %s is not one of its kind", path, name, row))
			}
			dir := filepath.Dir(path)
			if found[dir] == nil {
				found[dir] = &pkg{dir: dir}
			}
			found[dir].tests = append(found[dir].tests, test{name, row})
		}
		return nil
	})
	var all []*pkg
	for _, p := range found {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return all, errors.Join(append(errs, err)...)
}

// readReasons reads the rows that have no test: a row a line, then why.
func readReasons(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w (run it from the root of the repository)", err)
	}
	defer f.Close()
	reasons := map[string]string{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		row, why, _ := strings.Cut(line, " ")
		if kindOf(row) == "" || strings.TrimSpace(why) == "" {
			return nil, fmt.Errorf("%s:%d: want a row and a reason", path, n)
		}
		reasons[row] = strings.TrimSpace(why)
	}
	return reasons, lines.Err()
}
