package policyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
	"go.yaml.in/yaml/v3"
)

// maxFile bounds a file, in bytes.
const maxFile = 1 << 20

// Parse reads the text of a policy file; name is for its error, which is Problems:
// everything that is wrong, by line.
func Parse(name string, text []byte) (*File, error) {
	r := &reader{file: name}
	f := r.parse(text)
	if len(r.problems) > 0 {
		return nil, r.problems.sorted()
	}
	return f, nil
}

// A reader gathers what a file says, and everything that is wrong with it.
type reader struct {
	file     string
	problems Problems
}

func (r *reader) problem(line int, text, remedy string, args ...any) {
	r.problems = append(r.problems, Problem{r.file, line, text, fmt.Sprintf(remedy, args...)})
}

func (r *reader) parse(text []byte) *File {
	if len(text) > maxFile {
		r.problem(1, fmt.Sprintf("the file has %d bytes", len(text)), "policies fit into %d; split it by application", maxFile)
		return nil
	}
	root, ok := r.document(text)
	if !ok {
		return nil
	}
	f := new(File)
	policies := &yaml.Node{Line: root.Line}
	r.mapping(root, "the file", fields{
		"proxies":      func(n *yaml.Node) { r.each(n, "proxies", func(n *yaml.Node) { r.proxy(n, f) }) },
		"proxy_header": func(n *yaml.Node) { f.ProxyHeader = r.text(n) },
		"ipv4_prefix":  func(n *yaml.Node) { f.IPv4Prefix = int(r.number(n, 8, 32)) },
		"ipv6_prefix":  func(n *yaml.Node) { f.IPv6Prefix = int(r.number(n, 32, 128)) },
		"prefix":       func(n *yaml.Node) { f.Prefix = r.text(n) },
		"headers":      func(n *yaml.Node) { f.Headers = r.headers(n) },
		"instances":    func(n *yaml.Node) { f.Instances = int(r.number(n, 1, 1_000_000)) },
		"jitter":       func(n *yaml.Node) { f.Jitter = r.truth(n) },
		"policies": func(n *yaml.Node) {
			policies = n
			r.each(n, "policies", func(n *yaml.Node) { r.policy(n, f) })
		},
	})
	if len(f.Policies) == 0 && len(r.problems) == 0 {
		r.problem(policies.Line, "no policies", "write at least one, for example\n  policies:\n    - {name: api, rate: 100/m}")
	}
	r.whole(root, f)
	return f
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// document is the one mapping that a file consists of.
func (r *reader) document(text []byte) (*yaml.Node, bool) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		r.problem(1, "the file is empty", "write at least one policy, for example\n  policies:\n    - {name: api, rate: 100/m}")
		return nil, false
	case err != nil:
		what, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
		if m := yamlLine.FindStringSubmatch(what); m != nil {
			line, _ = strconv.Atoi(m[1])
			what = what[len(m[0]):]
		}
		r.problem(line, "not YAML: "+what, "look at this line and the one before: indentation, quotes, a space after each colon")
		return nil, false
	}
	var second yaml.Node
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		r.problem(max(second.Line, doc.Line), "a second document, or text after the first", "keep one; a file is one set of policies")
	}
	root := doc.Content[0]
	if a := alias(root); a != nil {
		r.problem(a.Line, fmt.Sprintf("an alias, *%s", a.Value), "write out what it stands for: limits are read by people in a hurry")
		return nil, false
	}
	if root.Kind != yaml.MappingNode {
		r.problem(root.Line, "the file is "+kind(root), "begin it with policies:")
		return nil, false
	}
	return root, true
}

// alias is the first alias at or below n.
func alias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n
	}
	for _, child := range n.Content {
		if a := alias(child); a != nil {
			return a
		}
	}
	return nil
}

func (r *reader) proxy(n *yaml.Node, f *File) {
	p, err := ParseNetwork(r.text(n))
	if err != nil {
		r.problem(n.Line, "proxies: "+err.Error(), "")
		return
	}
	f.Proxies = append(f.Proxies, p)
}

func (r *reader) headers(n *yaml.Node) core.Headers {
	known := map[string]core.Headers{"draft10": core.HeadersDraft10, "legacy": core.HeadersLegacy,
		"both": core.HeadersDraft10 | core.HeadersLegacy, "none": core.HeadersNone}
	h, ok := known[r.text(n)]
	if !ok {
		r.problem(n.Line, fmt.Sprintf("headers: %q", n.Value), "use draft10, legacy, both or none")
	}
	return h
}

// whole has core judge what only the whole file shows: settings of the client's
// address, and policies that get in each other's way.
func (r *reader) whole(root *yaml.Node, f *File) {
	if len(r.problems) > 0 {
		return
	}
	_, err := core.New(f.Config(core.Config{Backend: memory.New(), User: nobody}, nil))
	if err == nil {
		return
	}
	for line := range strings.Lines(err.Error()) {
		text := strings.TrimPrefix(strings.TrimSpace(line), "stint: ")
		at := root.Line
		for _, p := range f.Policies {
			if strings.HasPrefix(text, fmt.Sprintf("policy %q: ", p.Name)) {
				at = p.Line
			}
		}
		r.problem(at, text, "")
	}
}

// nobody stands in for the application's users.
func nobody(core.Request) string { return "" }
