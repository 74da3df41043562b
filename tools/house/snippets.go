package main

import (
	"fmt"
	"go/build"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// checkSnippets proves that the Go code in the pages is code that compiles.
// The line before a fence names the file it comes from,
//
//	<!-- from examples/readme/gin/main.go -->
//	<!-- from examples/readme/gin/main.go#login -->
//
// as a path from the root, the whole file or one region of it, which the file
// marks with the comments that editors fold by:
//
//	// region login
//	// endregion
//
// Regions nest; the same name again continues the region after a blank line,
// which leaves out what stands between. The markers themselves and common
// indentation are not part of the snippet; an indentation of four spaces is as
// good as a tab. A Go fence that can't compile says so and why:
//
//	<!-- not compiled: the ancestor's code, for comparison -->
func checkSnippets(t *tree) []finding {
	var out []finding
	for _, page := range t.withExt(".md") {
		fences, _ := parsePage(t.files[page])
		for _, f := range fences {
			if msg := checkSnippet(t, f); msg != "" {
				out = append(out, finding{page, f.line, msg})
			}
		}
	}
	return out
}

func checkSnippet(t *tree, f fence) string {
	src, ok := strings.CutPrefix(f.comment, "from ")
	if !ok {
		if f.lang != "go" && f.lang != "golang" {
			return ""
		}
		if why, ok := strings.CutPrefix(f.comment, "not compiled:"); ok && strings.TrimSpace(why) != "" {
			return ""
		}
		return "Go code from nowhere: put <!-- from FILE#REGION --> or <!-- not compiled: WHY --> on the line before"
	}
	want, err := sourceOf(t, src)
	if err != nil {
		return err.Error()
	}
	if d := diff(normal(want), normal(f.text)); d != "" {
		return fmt.Sprintf("differs from %s (make docs copies it here):\n%s", src, d)
	}
	return ""
}

// writeSnippets copies every snippet's source into its page.
func writeSnippets(t *tree) error {
	for _, page := range t.withExt(".md") {
		fences, _ := parsePage(t.files[page])
		lines := strings.Split(t.files[page], "\n")
		for i := len(fences) - 1; i >= 0; i-- { // from the end: line numbers before it stay
			f := fences[i]
			src, ok := strings.CutPrefix(f.comment, "from ")
			if !ok {
				continue
			}
			want, err := sourceOf(t, src)
			if err != nil {
				return fmt.Errorf("%s:%d: %w", page, f.line, err)
			}
			if normal(want) == normal(f.text) {
				continue
			}
			var code []string
			for line := range strings.SplitSeq(want, "\n") {
				if line != "" {
					line = f.indent + line
				}
				code = append(code, line)
			}
			lines = append(lines[:f.line:f.line], append(code, lines[f.end-1:]...)...)
		}
		text := strings.Join(lines, "\n")
		if text == t.files[page] {
			continue
		}
		if err := os.WriteFile(filepath.Join(t.root, filepath.FromSlash(page)), []byte(text), 0o644); err != nil {
			return err
		}
		fmt.Println("house: wrote", page)
	}
	return nil
}

// sourceOf is the text that "file#region" names, without markers and common
// indentation.
func sourceOf(t *tree, src string) (string, error) {
	file, region, _ := strings.Cut(strings.TrimSpace(src), "#")
	text, ok := t.files[file]
	if !ok {
		return "", fmt.Errorf("no file %s to take code from", file)
	}
	if path.Ext(file) == ".go" {
		dir, name := path.Split(file)
		if ok, err := build.Default.MatchFile(filepath.Join(t.root, filepath.FromSlash(dir)), name); err != nil || !ok {
			return "", fmt.Errorf("%s is not compiled: a build constraint leaves it out", file)
		}
	}
	s, err := cutRegion(text, region)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

var (
	regionStart = regexp.MustCompile(`^\s*(?://|#|--) region (\S+)$`)
	regionEnd   = regexp.MustCompile(`^\s*(?://|#|--) endregion$`)
)

// cutRegion is the text of a region, or of everything where region is "".
func cutRegion(text, region string) (string, error) {
	var parts, part, open []string
	for line := range strings.SplitSeq(text, "\n") {
		if m := regionStart.FindStringSubmatch(line); m != nil {
			open = append(open, m[1])
			continue
		}
		if regionEnd.MatchString(line) {
			if len(open) == 0 {
				return "", fmt.Errorf("endregion without region")
			}
			if open[len(open)-1] == region && region != "" {
				parts, part = append(parts, strings.Join(part, "\n")), nil
			}
			open = open[:len(open)-1]
			continue
		}
		if region == "" || slices.Contains(open, region) {
			part = append(part, line)
		}
	}
	switch {
	case len(open) > 0:
		return "", fmt.Errorf("region %s has no end", open[len(open)-1])
	case region == "":
		parts = []string{strings.Join(part, "\n")}
	case parts == nil:
		return "", fmt.Errorf("no region %s", region)
	}
	for i := range parts {
		parts[i] = strings.Trim(parts[i], "\n")
	}
	return dedent(strings.Join(parts, "\n\n")), nil
}

// dedent takes away the tabs that all lines begin with.
func dedent(s string) string {
	lines := strings.Split(s, "\n")
	for {
		for _, l := range lines {
			if l != "" && l[0] != '\t' {
				return strings.Join(lines, "\n")
			}
		}
		if strings.Trim(strings.Join(lines, ""), "\t") == "" {
			return ""
		}
		for i, l := range lines {
			lines[i] = strings.TrimPrefix(l, "\t")
		}
	}
}

// normal makes snippets comparable: leading tabs as four spaces, no blanks at
// the ends.
func normal(s string) string {
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	for i, l := range lines {
		body := strings.TrimLeft(l, "\t")
		lines[i] = strings.TrimRight(strings.Repeat("    ", len(l)-len(body))+body, " \t\r")
	}
	return strings.Join(lines, "\n")
}

// diff shows the first place where two texts part, "" when they don't.
func diff(want, got string) string {
	if want == got {
		return ""
	}
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < len(w) && i < len(g) && w[i] == g[i] {
		i++
	}
	for len(w) > i && len(g) > i && w[len(w)-1] == g[len(g)-1] {
		w, g = w[:len(w)-1], g[:len(g)-1]
	}
	var b strings.Builder
	for _, l := range w[i:] {
		b.WriteString(strings.TrimRight("\t+ "+l, " ") + "\n")
	}
	for _, l := range g[i:] {
		b.WriteString(strings.TrimRight("\t- "+l, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
