package main

import (
	"go/ast"
	"strings"
)

// checkTests refuses tests that prove nothing: those that skip themselves, and
// those that wait for the wall clock. In a synctest bubble waiting is free and
// exact, so it is allowed there.
func checkTests(t *tree) []finding {
	var out []finding
	for _, name := range t.withExt(".go") {
		f := t.goast[name]
		if !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(f.Name.Name, "test") {
			continue
		}
		imports, testers := importNames(f), paramsOf(f, func(typ string) bool { return strings.HasPrefix(typ, "testing.") })
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			switch from := imports[x.Name]; {
			case from == "testing/synctest" && sel.Sel.Name == "Test":
				return false // the bubble: its clock is not the wall's
			case from == "time" && sel.Sel.Name == "Sleep":
				out = append(out, finding{name, t.line(call.Pos()), "time.Sleep in a test: pass the instant, or wait for the event"})
			case testers[x.Name] && strings.HasPrefix(sel.Sel.Name, "Skip") && sel.Sel.Name != "Skipped":
				out = append(out, finding{name, t.line(call.Pos()), x.Name + "." + sel.Sel.Name + ": a test that did not run must not be green; make what it needs, or fail"})
			}
			return true
		})
	}
	return out
}

// importNames maps the names that a file's imports have in it to their paths.
func importNames(f *ast.File) map[string]string {
	m := map[string]string{}
	for _, im := range f.Imports {
		p := strings.Trim(im.Path.Value, `"`)
		name := p[strings.LastIndex(p, "/")+1:]
		if im.Name != nil {
			name = im.Name.Name
		}
		m[name] = p
	}
	return m
}

// paramsOf are the names of the parameters in a file whose type, written out
// without a star, is one that match accepts.
func paramsOf(f *ast.File, match func(string) bool) map[string]bool {
	m := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		ft, ok := n.(*ast.FuncType)
		if !ok {
			return true
		}
		for _, p := range ft.Params.List {
			if !match(typeName(p.Type)) {
				continue
			}
			for _, n := range p.Names {
				m[n.Name] = true
			}
		}
		return true
	})
	return m
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}
