package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// checkExported wants a doc comment on every exported name that somebody can
// import, and on every package. One comment may serve its neighbours: a group's
// comment all of the group, a type's or field's comment the fields it names (and
// all of an interface of one method), a function's the functions that follow
// without a blank line and that it names.
func checkExported(t *tree) []finding {
	var out []finding
	documented := map[string]bool{} // packages, by directory
	first := map[string]string{}
	for _, name := range t.withExt(".go") {
		f := t.goast[name]
		if strings.HasSuffix(name, "_test.go") || f.Name.Name == "main" || strings.Contains("/"+name, "/internal/") {
			continue
		}
		dir := path.Dir(name)
		if f.Doc != nil {
			documented[dir] = true
		}
		if first[dir] == "" {
			first[dir] = name
		}
		for _, n := range undocumented(t, f) {
			out = append(out, finding{name, t.line(n.Pos()), fmt.Sprintf("%s has no doc comment", n.Name)})
		}
	}
	for dir, name := range first {
		if !documented[dir] {
			out = append(out, finding{name, 0, "no file of package " + dir + " has a package comment"})
		}
	}
	return sortFindings(out)
}

func undocumented(t *tree, f *ast.File) []*ast.Ident {
	var out []*ast.Ident
	shared, sharedEnd := "", 0 // the comment of the functions above, and where they end
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch {
			case d.Doc != nil:
				shared = d.Doc.Text()
			case t.line(d.Pos()) != sharedEnd+1:
				shared = ""
			}
			sharedEnd = t.line(d.End())
			if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil && !names(shared, d.Name.Name) {
				out = append(out, d.Name)
			}
		case *ast.GenDecl:
			shared = ""
			out = append(out, undocumentedSpecs(d)...)
		}
	}
	return out
}

func undocumentedSpecs(d *ast.GenDecl) []*ast.Ident {
	var out []*ast.Ident
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.ValueSpec:
			for _, n := range s.Names {
				if n.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					out = append(out, n)
				}
			}
		case *ast.TypeSpec:
			if !s.Name.IsExported() {
				continue
			}
			doc := s.Doc.Text() + s.Comment.Text()
			if d.Tok == token.TYPE && !d.Lparen.IsValid() {
				doc += d.Doc.Text()
			}
			if doc == "" {
				out = append(out, s.Name)
			}
			out = append(out, undocumentedFields(s, doc)...)
		}
	}
	return out
}

func undocumentedFields(s *ast.TypeSpec, doc string) []*ast.Ident {
	var list *ast.FieldList
	switch typ := s.Type.(type) {
	case *ast.StructType:
		list = typ.Fields
	case *ast.InterfaceType:
		if typ.Methods.NumFields() == 1 && doc != "" {
			return nil
		}
		list = typ.Methods
	default:
		return nil
	}
	var out []*ast.Ident
	for _, f := range list.List {
		doc += f.Doc.Text() + f.Comment.Text()
		for _, n := range f.Names {
			if n.IsExported() && f.Doc == nil && f.Comment == nil && !namedAsItsType(n.Name, f.Type) && !names(doc, n.Name) {
				out = append(out, n)
			}
		}
	}
	return out
}

// namedAsItsType tells of a field, or of a method with that one result, that the
// comment on its type says it all: Key Key, Context() context.Context.
func namedAsItsType(name string, typ ast.Expr) bool {
	if ft, ok := typ.(*ast.FuncType); ok {
		if ft.Results.NumFields() != 1 || ft.Params.NumFields() != 0 {
			return false
		}
		typ = ft.Results.List[0].Type
	}
	full := typeName(typ)
	return full[strings.LastIndex(full, ".")+1:] == name
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

// names tells whether a comment mentions a name as a word.
func names(doc, name string) bool {
	return doc != "" && regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).MatchString(doc)
}
