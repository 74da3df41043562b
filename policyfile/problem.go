package policyfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem is one thing that is wrong with a file.
type Problem struct {
	File   string // the name given to Parse; "" is none
	Line   int    // from 1 on
	Text   string // what is wrong
	Remedy string // what to do; "" where Text says so
}

// String is the problem in one line: "limits.yaml:3: unknown field: …".
func (p Problem) String() string {
	s := fmt.Sprintf("line %d: %s", p.Line, p.Text)
	if p.File != "" {
		s = fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
	}
	if p.Remedy != "" {
		s += ": " + p.Remedy
	}
	return s
}

// Problems are everything that is wrong with a file, by line. They are an error:
// errors.As finds them.
type Problems []Problem

// Error is the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return ps
}
