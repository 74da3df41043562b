package trace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Format is a form of lines.
type Format struct {
	Name  string
	parse func(text string, e *Entry) error
}

var formats = map[string]Format{
	"jsonl":    {"jsonl", parseLine},
	"common":   {"common", parseApache},
	"combined": {"combined", parseApache},
	"caddy":    {"caddy", func(text string, e *Entry) error { return parseProperties(text, e, caddy) }},
	"nginx":    {"nginx", func(text string, e *Entry) error { return parseProperties(text, e, nginx) }},
	"envoy":    {"envoy", func(text string, e *Entry) error { return parseProperties(text, e, envoy) }},
}

// FormatNames are the formats that have a name.
var FormatNames = slices.Sorted(maps.Keys(formats))

// FormatOf is the format of that name; "" and auto are none, to be detected.
func FormatOf(name string) (*Format, error) {
	if name == "" || name == "auto" {
		return nil, nil
	}
	f, ok := formats[name]
	if !ok {
		return nil, fmt.Errorf("unknown format %q: use %s, or auto", name, strings.Join(FormatNames, ", "))
	}
	return &f, nil
}

// detect finds the format of the first lines: that which most of them have. Ties
// go to the form that asks for more.
func detect(lines []string) (*Format, error) {
	var best Format
	most := 0
	for _, name := range []string{"jsonl", "caddy", "envoy", "nginx", "combined"} {
		f, n := formats[name], 0
		for _, line := range lines {
			var e Entry
			if f.parse(line, &e) == nil && (name == "jsonl" || name == "combined" || looksLike(name, line)) {
				n++
			}
		}
		if n > most {
			best, most = f, n
		}
	}
	if most == 0 {
		return nil, fmt.Errorf("its form is not known: name it with --format (%s)", strings.Join(FormatNames, ", "))
	}
	return &best, nil
}

// marks are names that tell a server's lines from another's.
var marks = map[string][]string{
	"caddy": {`"request":{`, `"request": {`},
	"envoy": {`"start_time"`, `"downstream_`, `":path"`, `"upstream_host"`, `"upstream_cluster"`, `"response_flags"`},
	"nginx": {`"remote_addr"`, `"time_local"`, `"time_iso8601"`, `"msec"`, `"request_uri"`, `"request_method"`},
}

func looksLike(name, line string) bool {
	return slices.ContainsFunc(marks[name], func(mark string) bool { return strings.Contains(line, mark) })
}
