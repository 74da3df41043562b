// Command mutants plants bugs that other limiters had into this one, one at a
// time, and proves that a test turns red for each.
//
//	go run ./tools/mutants              # from the root: all
//	go run ./tools/mutants -short       # those that CI plants
//	go run ./tools/mutants -run 'ttl.*' # by name
//	go run ./tools/mutants -list
//
// A bug is a replacement in one file; it is an error when that file no longer has
// the text exactly once. The file itself is never touched: the go command reads
// the changed text in its place (-overlay). First the tests run as they are, since
// a test that is always red proves nothing. It exits 1 when a bug survives: then a
// test is missing.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
)

func main() {
	pattern := flag.String("run", "", "only bugs whose name matches this regular expression whole")
	short := flag.Bool("short", false, "only the few that CI plants")
	list := flag.Bool("list", false, "plant nothing, print the bugs")
	workers := flag.Int("j", runtime.NumCPU(), "how many at a time")
	flag.Parse()
	only, err := regexp.Compile("^(?:" + *pattern + ")$")
	if err != nil {
		fail(err)
	}
	var chosen []mutant
	for _, m := range all() {
		if (*pattern == "" || only.MatchString(m.name)) && (m.short || !*short) {
			chosen = append(chosen, m)
		}
	}
	if *list {
		for _, m := range chosen {
			fmt.Printf("%-28s %s: %s (%s)\n", m.name, m.from, m.what, m.file)
		}
		return
	}
	if err := plant(chosen, max(1, *workers)); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "mutants:", err)
	os.Exit(1)
}

// A mutant is a bug.
type mutant struct {
	name     string
	from     string // who had it, or what leads to it
	what     string
	file     string // from the root
	old, new string // the text there, once, and what stands in its place
	pkg      string // the package whose tests turn red
	run      string // these of them
	short    bool   // CI plants it
}

func all() (m []mutant) {
	for _, some := range [][]mutant{arithmetic, memoryBugs, redisBugs, identity, httpBugs} {
		m = append(m, some...)
	}
	return m
}
