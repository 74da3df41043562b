package policyfile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// fields are what a mapping may have, and what reads each.
type fields map[string]func(*yaml.Node)

// mapping reads a mapping strictly: no other fields, none twice. It answers the
// lines of those that are there.
func (r *reader) mapping(n *yaml.Node, what string, known fields) map[string]int {
	lines := map[string]int{}
	if n.Kind != yaml.MappingNode {
		r.problem(n.Line, what+" is "+kind(n), "write fields: %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		return lines
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		read := known[name.Value]
		switch {
		case read == nil:
			r.problem(name.Line, fmt.Sprintf("unknown field %q in %s", name.Value, what), "%s", suggestion(name.Value, known))
		case lines[name.Value] != 0:
			r.problem(name.Line, fmt.Sprintf("field %q is here twice", name.Value), "keep this one or that of line %d", lines[name.Value])
		default:
			lines[name.Value] = name.Line
			read(value)
		}
	}
	return lines
}

// suggestion is the field that was probably meant, or all of them.
func suggestion(word string, known fields) string {
	names := slices.Sorted(maps.Keys(known))
	best, least := "", 3
	for _, name := range names {
		if d := distance(strings.ToLower(strings.ReplaceAll(word, "-", "_")), name); d < least {
			best, least = name, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known are " + strings.Join(names, ", ")
}

// distance is how many letters have to be changed, added or removed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, corner+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// each reads a list.
func (r *reader) each(n *yaml.Node, what string, read func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		r.problem(n.Line, what+": "+kind(n), "write a list: [a, b], or a line beginning with - for each")
		return
	}
	for _, element := range n.Content {
		read(element)
	}
}

// text reads words. A number or a date where words are wanted is taken as it is
// spelled.
func (r *reader) text(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.problem(n.Line, "text is wanted here, not "+kind(n), "write it behind the colon, quoted where it has special characters")
		return ""
	}
	return n.Value
}

func (r *reader) texts(n *yaml.Node, what string) []string {
	list := []string{}
	r.each(n, what, func(n *yaml.Node) { list = append(list, r.text(n)) })
	return list
}

func (r *reader) number(n *yaml.Node, least, most int64) int64 {
	v, err := strconv.ParseInt(r.text(n), 10, 64)
	if err != nil || v < least || v > most {
		r.problem(n.Line, fmt.Sprintf("%q is no number that fits here", n.Value), "write a whole number from %d to %d", least, most)
	}
	return v
}

func (r *reader) truth(n *yaml.Node) bool {
	switch r.text(n) {
	case "true":
		return true
	case "false":
	default:
		r.problem(n.Line, fmt.Sprintf("%q is neither true nor false", n.Value), "write one of them")
	}
	return false
}

func (r *reader) length(n *yaml.Node) time.Duration {
	d, err := time.ParseDuration(r.text(n))
	if err != nil || d <= 0 {
		r.problem(n.Line, fmt.Sprintf("%q is no length of time", n.Value), "write for example 10s, 5m or 1h30m")
	}
	return d
}

func (r *reader) instant(n *yaml.Node) time.Time {
	t, err := time.Parse(time.RFC3339, r.text(n))
	if err != nil {
		r.problem(n.Line, fmt.Sprintf("%q is no instant", n.Value), "write date, time and zone, as in 2026-11-27T18:00:00Z")
	}
	return t
}

func kind(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	}
	return fmt.Sprintf("the value %.40q", n.Value)
}
