package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A board collects what became of the rows.
type board struct {
	reasons map[string]string
	wanted  func(row string) bool
	unrun   bool                // the tests were found, and not run
	places  map[string][]string // packages by row
	failed  map[string][]string // tests that did
}

func (b *board) wantedOf(tests []test) (some []test) {
	for _, t := range tests {
		if b.wanted(t.row) {
			some = append(some, t)
		}
	}
	return some
}

func (b *board) listed(p *pkg) {
	if b.places == nil {
		b.places, b.failed = map[string][]string{}, map[string][]string{}
	}
	for _, t := range p.tests {
		if !slices.Contains(b.places[t.row], p.dir) {
			b.places[t.row] = append(b.places[t.row], p.dir)
		}
	}
}

func (b *board) add(p *pkg, r *result, runs int) {
	b.listed(p)
	for _, t := range p.tests {
		if r.broken || r.failed[t.name] || r.pass[t.name] != runs {
			b.failed[t.row] = append(b.failed[t.row], p.dir+": "+t.name)
		}
	}
}

// print prints the board and counts the rows that must not be as they are.
func (b *board) print(w io.Writer) (problems int) {
	var sums []string
	for _, k := range kinds {
		good, all := 0, 0
		for _, row := range k.rows {
			if !b.wanted(row) {
				continue
			}
			all++
			state, text, bad := b.row(row)
			if bad {
				problems++
			}
			if state == "passed" || state == "tested" {
				good++
			}
			fmt.Fprintf(w, "%-4s %-8s %s\n", row, state, text)
		}
		if all > 0 {
			sums = append(sums, fmt.Sprintf("%s %d/%d", k.label, good, all))
		}
	}
	fmt.Fprintln(w, "\n"+strings.Join(sums, "\n"))
	return problems
}

func (b *board) row(row string) (state, text string, bad bool) {
	places, reason := b.places[row], b.reasons[row]
	switch {
	case len(b.failed[row]) > 0:
		return "FAILED", strings.Join(b.failed[row], ", "), true
	case len(places) > 0 && reason != "":
		return "passed", strings.Join(places, ", ") + "; missing.txt still says: " + reason, true
	case len(places) > 0 && b.unrun:
		return "tested", strings.Join(places, ", "), false
	case len(places) > 0:
		return "passed", strings.Join(places, ", "), false
	case reason != "":
		return "missing", reason, false
	}
	return "MISSING", "no test, and no reason in tools/faults/missing.txt", true
}
