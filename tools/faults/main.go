// Command faults runs every test that provokes a fault or an attack, and prints
// the scoreboard: one line per row of the list in rows.go.
//
//	go run ./tools/faults            # from the root: all rows, each once
//	go run ./tools/faults -runs 3    # what the figures in docs/RELIABILITY.md are made with
//	go run ./tools/faults -rows 'A4|G.*'
//	go run ./tools/faults -list      # runs nothing: which rows have tests, and where
//
// A row's tests are those named TestFault_<row> or TestAttack_<row>, with
// anything after it that is no digit, in whatever packages. A row passes when all
// of them passed every time. Rows that have none stand in missing.txt, with the
// reason. It exits 1 when a row failed, or has neither a test nor a reason.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

func main() {
	runs := flag.Int("runs", 1, "how often every test must pass")
	pattern := flag.String("rows", "", "only rows that match this regular expression whole")
	list := flag.Bool("list", false, "run nothing, say which rows have tests")
	flag.Parse()
	only, err := regexp.Compile("^(?:" + *pattern + ")$")
	if err == nil && *runs < 1 {
		err = fmt.Errorf("-runs %d: want 1 at least", *runs)
	}
	if err == nil {
		err = scoreboard(*runs, only, *pattern == "", *list)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func scoreboard(runs int, only *regexp.Regexp, all, list bool) error {
	reasons, err := readReasons("tools/faults/missing.txt")
	if err != nil {
		return err
	}
	packages, err := findTests(".")
	if err != nil {
		return err
	}
	b := board{reasons: reasons, unrun: list, wanted: func(row string) bool { return all || only.MatchString(row) }}
	began := time.Now()
	for i, p := range packages {
		p.tests = b.wantedOf(p.tests)
		if len(p.tests) == 0 {
			continue
		}
		if list {
			b.listed(p)
			continue
		}
		fmt.Fprintf(os.Stderr, "[%d/%d] %s: %d tests, %d times\n", i+1, len(packages), p.dir, len(p.tests), runs)
		start := time.Now()
		result, err := p.run(runs)
		if err != nil {
			return err
		}
		b.add(p, result, runs)
		fmt.Fprintf(os.Stderr, "[%d/%d] %s: %d passed, %d s\n", i+1, len(packages), p.dir, result.passed(runs), int(time.Since(start).Seconds()))
	}
	problems := b.print(os.Stdout)
	if !list {
		fmt.Printf("each %d times, %d s\n", runs, int(time.Since(began).Seconds()))
	}
	if problems > 0 {
		return fmt.Errorf("%d rows failed, or miss a test without a reason", problems)
	}
	return nil
}
