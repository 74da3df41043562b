package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A finding is one thing that is wrong, at a place.
type finding struct {
	file string // slash-separated, from the root
	line int    // 0: the file as a whole
	msg  string
}

func (f finding) String() string {
	if f.line == 0 {
		return fmt.Sprintf("%s: %s", f.file, f.msg)
	}
	return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.msg)
}

// A tree is the repository as it lies on disk, read once. It asks no version
// control, so that a tarball is as good as a clone.
type tree struct {
	root  string
	files map[string]string    // text files by slash-separated path
	goast map[string]*ast.File // of the .go files among them
	fset  *token.FileSet
}

// openTree reads what people wrote: no test data, no vendored or generated
// trees, nothing hidden but the CI scripts.
func openTree(root string) (*tree, error) {
	t := &tree{root: root, files: map[string]string{}, goast: map[string]*ast.File{}, fset: token.NewFileSet()}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil || rel == "." {
			return err
		}
		if d.IsDir() {
			if skipDir(d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		return t.add(filepath.ToSlash(rel), p)
	})
	return t, err
}

func skipDir(name string) bool {
	switch name {
	case ".ci":
		return false
	case "testdata", "vendor", "node_modules", "bin", "out":
		return true
	}
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func (t *tree) add(rel, p string) error {
	switch path.Ext(rel) {
	case ".go", ".md", ".sh", ".lua", ".mod", ".work", ".yml", ".yaml", "":
	default:
		return nil
	}
	b, err := os.ReadFile(p)
	if err != nil {
		return err
	}
	if slices.Contains(b, 0) {
		return nil // a program somebody built here
	}
	t.files[rel] = string(b)
	if path.Ext(rel) == ".go" {
		f, err := parser.ParseFile(t.fset, rel, b, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		t.goast[rel] = f
	}
	return nil
}

// withExt lists the files with this extension in order.
func (t *tree) withExt(ext string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		if path.Ext(name) == ext {
			names = append(names, name)
		}
	}
	return names
}

// has tells whether a file or a directory of this name was read.
func (t *tree) has(name string) bool {
	if _, ok := t.files[name]; ok || name == "." {
		return true
	}
	_, err := os.Stat(filepath.Join(t.root, filepath.FromSlash(name)))
	return err == nil
}

func (t *tree) line(p token.Pos) int { return t.fset.Position(p).Line }

func sortFindings(fs []finding) []finding {
	slices.SortStableFunc(fs, func(a, b finding) int {
		return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	return fs
}
