package policyfile

import (
	"fmt"

	"github.com/stint-go/stint/core"
	"go.yaml.in/yaml/v3"
)

// ban reads the ban of a policy, and answers the lines of its fields. It is nil
// where something is wrong with it. Which values go together is for core to say.
func (r *reader) ban(n *yaml.Node) (*core.Ban, map[string]int) {
	var b core.Ban
	known := len(r.problems)
	lines := r.mapping(n, "a ban", fields{
		"after":   func(n *yaml.Node) { b.After = r.number(n, 1, core.MaxLimit) },
		"within":  func(n *yaml.Node) { b.Within = r.length(n) },
		"for":     func(n *yaml.Node) { b.For = r.length(n) },
		"max":     func(n *yaml.Node) { b.Max = r.length(n) },
		"forgive": func(n *yaml.Node) { b.Forgive = r.length(n) },
	})
	for _, needed := range []struct{ field, remedy string }{
		{"after", "add how many refusals lead to it, such as after: 5"},
		{"within", "add the time in which they fall, such as within: 10m"},
		{"for", "add how long the first one lasts, such as for: 1h"},
	} {
		if lines[needed.field] == 0 && n.Kind == yaml.MappingNode {
			r.problem(n.Line, fmt.Sprintf("a ban without %q", needed.field), "%s", needed.remedy)
		}
	}
	if len(r.problems) > known {
		return nil, lines
	}
	return &b, lines
}
