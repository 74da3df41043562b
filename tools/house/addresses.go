package main

import (
	"fmt"
	"go/ast"
	"strings"
)

// checkAddresses refuses the frameworks' own ideas of who the client is: each
// can be fooled by a header in some common set-up. The client's address is
// core's business, from the TCP peer. Only bench may call them, to measure what
// others do.
func checkAddresses(t *tree) []finding {
	var out []finding
	for _, name := range t.withExt(".go") {
		if strings.HasPrefix(name, "bench/") {
			continue
		}
		f := t.goast[name]
		imports := importNames(f)
		fiber := false
		for _, p := range imports {
			fiber = fiber || strings.HasPrefix(p, "github.com/gofiber/fiber")
		}
		ours := paramsOf(f, func(typ string) bool { return typ == "core.Request" })
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, _ := sel.X.(*ast.Ident)
			if x != nil && imports[x.Name] != "" {
				return true // a package's function
			}
			switch sel.Sel.Name {
			case "ClientIP", "RealIP":
			case "IP", "IPs": // Fiber's; core.Request has an IP of its own, which is safe
				if !fiber || x != nil && ours[x.Name] {
					return true
				}
			default:
				return true
			}
			out = append(out, finding{name, t.line(sel.Sel.Pos()),
				fmt.Sprintf("%s believes what clients claim: answer the peer and let core decide", sel.Sel.Name)})
			return true
		})
	}
	return out
}
