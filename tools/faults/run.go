package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// A result tells how often each test of a package passed.
type result struct {
	pass   map[string]int
	failed map[string]bool // also those that skipped themselves
	broken bool            // the package failed: what every test of it left behind counts
}

func (r *result) passed(runs int) (n int) {
	for name, times := range r.pass {
		if !r.failed[name] && times == runs && !r.broken {
			n++
		}
	}
	return n
}

// event is a line of go test -json.
type event struct{ Action, Test, Output string }

// run runs the tests of a package, and prints what those wrote that failed.
func (p *pkg) run(runs int) (*result, error) {
	names := make([]string, len(p.tests))
	for i, t := range p.tests {
		names[i] = t.name
	}
	cmd := exec.Command("go", "test", "-json", "-timeout", "30m", fmt.Sprintf("-count=%d", runs), "-run", "^("+strings.Join(names, "|")+")$", ".")
	cmd.Dir, cmd.Stderr = p.dir, os.Stderr
	out, err := cmd.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return nil, err
	}
	r := &result{pass: map[string]int{}, failed: map[string]bool{}, broken: err != nil}
	said := map[string]*strings.Builder{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var e event
		if err := dec.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: go test -json: %w\n%s", p.dir, err, out)
		}
		top, _, sub := strings.Cut(e.Test, "/")
		switch {
		case e.Action == "output":
			if said[top] == nil {
				said[top] = new(strings.Builder)
			}
			said[top].WriteString(e.Output)
		case e.Action == "pass" && !sub && top != "":
			r.pass[top]++
		case (e.Action == "fail" || e.Action == "skip") && top != "":
			r.failed[top] = true
		}
	}
	if err != nil {
		r.blame(p, said)
	}
	return r, nil
}

// blame says why the package failed. Where tests failed it is theirs; otherwise
// something is wrong that no test alone is to blame for, such as what is left
// behind when all are over.
func (r *result) blame(p *pkg, said map[string]*strings.Builder) {
	for name := range r.failed {
		r.broken = false
		fmt.Fprintf(os.Stderr, "%s:\n%s", p.dir, said[name])
	}
	if b := said[""]; r.broken && b != nil {
		fmt.Fprintf(os.Stderr, "%s:\n%s", p.dir, b)
	}
}
