package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A modfile is what the go command says of a go.mod or go.work.
type modfile struct {
	Module  struct{ Path string }
	Go      string
	Use     []struct{ DiskPath string }
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// checkModules proves that the modules fit together: the workspace has all of
// them, paths follow directories, every module can be worked on alone because
// it replaces each module of this repository that it requires by its directory,
// and the root requires nothing.
func checkModules(t *tree) []finding {
	work, err := readModfile(t, "work", "go.work")
	if err != nil {
		return []finding{{"go.work", 0, err.Error()}}
	}
	var out []finding
	mods := map[string]modfile{} // by directory
	for _, name := range t.withExt(".mod") {
		m, err := readModfile(t, "mod", name)
		if err != nil {
			return []finding{{name, 0, err.Error()}}
		}
		mods[path.Dir(name)] = m
	}
	used := map[string]bool{}
	for _, u := range work.Use {
		dir := path.Clean(u.DiskPath)
		used[dir] = true
		if _, ok := mods[dir]; !ok {
			out = append(out, finding{"go.work", 0, "uses " + dir + ", where no module is"})
		}
	}
	root := mods["."].Module.Path
	for dir, m := range mods {
		name := path.Join(dir, "go.mod")
		if !used[dir] {
			out = append(out, finding{name, 0, "not in go.work: go work use ./" + dir})
		}
		if want := path.Join(root, dir); m.Module.Path != want {
			out = append(out, finding{name, 0, fmt.Sprintf("module %s, its directory says %s", m.Module.Path, want)})
		}
		if lang(m.Go) != lang(mods["."].Go) {
			out = append(out, finding{name, 0, fmt.Sprintf("go %s, the root has go %s", m.Go, mods["."].Go)})
		}
		for _, r := range m.Require {
			if dir == "." {
				out = append(out, finding{name, 0, "the root requires " + r.Path + ": it requires nothing, ever"})
			}
		}
		for _, msg := range checkReplaces(root, dir, m) {
			out = append(out, finding{name, 0, msg})
		}
	}
	return sortFindings(out)
}

// checkReplaces compares the modules of this repository that m requires with
// those that it replaces.
func checkReplaces(root, dir string, m modfile) []string {
	ours := func(p string) bool { return p == root || strings.HasPrefix(p, root+"/") }
	replaced := map[string]string{}
	var out []string
	for _, r := range m.Replace {
		replaced[r.Old.Path] = r.New.Path
		required := slices.ContainsFunc(m.Require, func(q struct{ Path, Version string }) bool { return q.Path == r.Old.Path })
		if ours(r.Old.Path) && !required {
			out = append(out, "replaces "+r.Old.Path+" but doesn't require it")
		}
	}
	for _, r := range m.Require {
		if !ours(r.Path) {
			continue
		}
		rel, err := filepath.Rel(dir, path.Join(".", strings.TrimPrefix(r.Path, root)))
		if err != nil {
			return append(out, err.Error())
		}
		rel = filepath.ToSlash(rel)
		if !strings.HasPrefix(rel, ".") {
			rel = "./" + rel
		}
		if got := replaced[r.Path]; strings.TrimSuffix(got, "/") != rel {
			out = append(out, fmt.Sprintf("requires %s: needs replace %s => %s", r.Path, r.Path, rel))
		}
	}
	return out
}

// lang is the language version: 1.26 of 1.26.3.
func lang(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

func readModfile(t *tree, kind, name string) (modfile, error) {
	var m modfile
	b, err := t.goCommand(kind, "edit", "-json", name)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(b, &m)
}

// goCommand runs go in the root of the tree, outside any workspace around it.
func (t *tree) goCommand(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = t.root
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return b, err
}
