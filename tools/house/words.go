package main

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	leftover    = regexp.MustCompile(`(?:^|[^.\w])(TODO|FIXME|XXX|HACK)\b`) // context.TODO is a function
	machinePath = regexp.MustCompile("(?:^|[\\s\"'`(=:])(/(?:home|root|Users|work|tmp)/[\\w.-]+)")
	pageName    = regexp.MustCompile(`(?:^|[\s"'(,;])((?:[\w.-]+/)*[A-Za-z][\w-]*\.md)\b`)
	climbing    = regexp.MustCompile(`(?:^|[\s"'(])((?:\.\./)+[\w-][\w.-]*)`)
)

// checkWords reads the prose: comments of Go files, pages, scripts and Lua. It
// refuses notes to self, paths of somebody's machine, paths that climb out of
// the repository, and pages named that are not there.
func checkWords(t *tree) []finding {
	var out []finding
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		for _, p := range proseOf(t, name) {
			if m := leftover.FindStringSubmatch(p.msg); m != nil {
				out = append(out, finding{name, p.line, m[1] + ": do it, or open an issue and leave no note"})
			}
			if m := machinePath.FindStringSubmatch(p.msg); m != nil {
				out = append(out, finding{name, p.line, m[1] + " is a path of one machine"})
			}
			for _, m := range climbing.FindAllStringSubmatch(p.msg, -1) {
				if strings.HasPrefix(path.Join(path.Dir(name), m[1]), "..") {
					out = append(out, finding{name, p.line, m[1] + " leaves the repository"})
				}
			}
			for _, m := range pageName.FindAllStringSubmatch(p.msg, -1) {
				if !t.has(m[1]) && !t.has(path.Join(path.Dir(name), m[1])) {
					out = append(out, finding{name, p.line, "no page " + m[1]})
				}
			}
		}
	}
	return out
}

// proseOf is what people read in a file, line by line: of Go, the comments.
func proseOf(t *tree, name string) []finding {
	var out []finding
	if f := t.goast[name]; f != nil {
		for _, g := range f.Comments {
			for _, c := range g.List {
				for i, l := range strings.Split(c.Text, "\n") {
					out = append(out, finding{line: t.line(c.Pos()) + i, msg: strings.TrimLeft(l, "/*")})
				}
			}
		}
		return out
	}
	for i, l := range strings.Split(t.files[name], "\n") {
		out = append(out, finding{line: i + 1, msg: l})
	}
	return out
}

// maxLines is where a file has stopped being one idea.
const maxLines = 500

var (
	shapeless = regexp.MustCompile(`^(?:utils?|helpers?|managers?|common|misc)$`)
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
)

// checkFiles refuses source files that are too long, and names that say
// nothing.
func checkFiles(t *tree) []finding {
	var out []finding
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		ext, text := path.Ext(name), t.files[name]
		if ext != ".go" && ext != ".lua" && ext != ".sh" || generated.MatchString(text) {
			continue
		}
		if n := strings.Count(text, "\n"); n > maxLines {
			out = append(out, finding{name, 0, fmt.Sprintf("%d lines, more than %d: split it by idea", n, maxLines)})
		}
		base := strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ext), "_test")
		if shapeless.MatchString(base) {
			out = append(out, finding{name, 0, "a file name that says nothing about what is in it"})
		}
		if f := t.goast[name]; f != nil && shapeless.MatchString(strings.TrimSuffix(f.Name.Name, "_test")) {
			out = append(out, finding{name, t.line(f.Name.Pos()), "package " + f.Name.Name + ": a name that says nothing about what is in it"})
		}
	}
	return out
}
