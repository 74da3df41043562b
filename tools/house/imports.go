package main

import (
	"path"
	"strings"
)

// checkImports proves, over the whole import graph, that users of the library
// don't link the testing package, and that core knows no framework, not even
// net/http. Packages whose name ends in "test" are made to be imported by tests.
func checkImports(t *tree) []finding {
	b, err := t.goCommand("list", "-deps", "-f", `{{if not .Standard}}{{.ImportPath}} {{.Name}} {{join .Deps ","}}{{end}}`, "./...")
	if err != nil {
		return []finding{{"go.mod", 0, err.Error()}}
	}
	var out []finding
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 3 || strings.HasSuffix(f[1], "test") {
			continue
		}
		for dep := range strings.SplitSeq(f[2], ",") {
			switch {
			case dep == "testing":
				out = append(out, finding{f[0], 0, "imports testing, itself or through another package"})
			case dep == "net/http" && path.Base(f[0]) == "core":
				out = append(out, finding{f[0], 0, "imports net/http, itself or through another package"})
			}
		}
	}
	return out
}
