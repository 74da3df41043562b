package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

var (
	makeTarget = regexp.MustCompile(`(?m)^([a-zA-Z][\w-]*):(?:[^=]|$)`)
	makeCall   = regexp.MustCompile(`(?:^|[;&|]\s*)(?:[A-Z_]+=\S*\s+)*make((?:\s+[\w=.-]+)*)`)
	goRun      = regexp.MustCompile(`\bgo run (?:-\S+ )*(\./\S+)`)
)

// checkCommands proves that what the pages tell people to type is there: the
// targets of make and the programs of go run, in shell fences and in `code`.
func checkCommands(t *tree) []finding {
	targets := map[string]bool{}
	for _, m := range makeTarget.FindAllStringSubmatch(t.files["Makefile"], -1) {
		targets[m[1]] = true
	}
	var out []finding
	for _, page := range t.withExt(".md") {
		for _, c := range commandsOf(t.files[page]) {
			for _, m := range makeCall.FindAllStringSubmatch(c.msg, -1) {
				for _, target := range strings.Fields(m[1]) {
					if !targets[target] && !strings.ContainsAny(target, "=") && target[0] != '-' {
						out = append(out, finding{page, c.line, fmt.Sprintf("make %s: the Makefile has no such target", target)})
					}
				}
			}
			for _, m := range goRun.FindAllStringSubmatch(c.msg, -1) {
				if dir := path.Clean(m[1]); !t.hasMain(dir) && !t.hasMain(path.Join(path.Dir(page), dir)) {
					out = append(out, finding{page, c.line, fmt.Sprintf("go run %s: no program there", m[1])})
				}
			}
		}
	}
	return sortFindings(out)
}

// commandsOf are the shell lines of a page, with their places.
func commandsOf(text string) []finding {
	var out []finding
	fences, prose := parsePage(text)
	for _, f := range fences {
		switch f.lang {
		case "sh", "bash", "shell", "console":
			for i, line := range strings.Split(f.text, "\n") {
				line, _, _ = strings.Cut(line, " #")
				out = append(out, finding{line: f.line + 1 + i, msg: strings.TrimPrefix(strings.TrimSpace(line), "$ ")})
			}
		}
	}
	for i, line := range prose {
		for _, code := range inlineCode.FindAllString(line, -1) {
			out = append(out, finding{line: i + 1, msg: strings.TrimSpace(strings.Trim(code, "`"))})
		}
	}
	return out
}

func (t *tree) hasMain(dir string) bool {
	for name, f := range t.goast {
		if path.Dir(name) == dir && f.Name.Name == "main" {
			return true
		}
	}
	return false
}
