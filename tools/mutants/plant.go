package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A verdict is what became of a mutant.
type verdict struct {
	mutant
	killers []string // the tests that turned red
	err     error    // it could not be planted
	took    time.Duration
}

// plant plants all, so many at a time, and prints what became of each.
func plant(all []mutant, workers int) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := green(all); err != nil {
		return err
	}
	todo, done := make(chan int), make(chan verdict)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range todo {
				done <- all[i].plant(filepath.Join(dir, fmt.Sprint(i)))
			}
		})
	}
	go func() {
		for i := range all {
			todo <- i
		}
		close(todo)
		wg.Wait()
		close(done)
	}()
	killed, n := 0, 0
	var survivors []string
	for v := range done {
		n++
		state, text := "killed", strings.Join(v.killers, " ")
		switch {
		case v.err != nil:
			state, text = "BROKEN", v.err.Error()
		case len(v.killers) == 0:
			state, text = "SURVIVED", v.what
		}
		if state == "killed" {
			killed++
		} else {
			survivors = append(survivors, v.name)
		}
		fmt.Printf("[%d/%d] %-8s %-28s %s (%.0f s)\n", n, len(all), state, v.name, text, v.took.Seconds())
	}
	fmt.Printf("\nseeded bugs caught %d/%d\n", killed, len(all))
	if len(survivors) > 0 {
		return fmt.Errorf("no test caught %s", strings.Join(survivors, ", "))
	}
	return nil
}

// green runs the tests as they are, a package at a time.
func green(all []mutant) error {
	patterns := map[string][]string{}
	for _, m := range all {
		if !slices.Contains(patterns[m.pkg], m.run) {
			patterns[m.pkg] = append(patterns[m.pkg], m.run)
		}
	}
	for pkg, runs := range patterns {
		start := time.Now()
		out, err := test(pkg, strings.Join(runs, "|"), "")
		if err != nil {
			return fmt.Errorf("%s is red without any bug: %w\n%s", pkg, err, out)
		}
		fmt.Printf("%s is green, %.0f s\n", pkg, time.Since(start).Seconds())
	}
	return nil
}

func (m mutant) plant(path string) verdict {
	v, start := verdict{mutant: m}, time.Now()
	v.killers, v.err = m.killers(path)
	v.took = time.Since(start)
	return v
}

func (m *mutant) killers(path string) ([]string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return nil, fmt.Errorf("%s has the text to replace %d times: bring it up to date in tools/mutants", m.file, n)
	}
	changed, overlay := path+filepath.Ext(m.file), path+".json"
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o600); err != nil {
		return nil, err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return nil, err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return nil, err
	}
	out, err := test(m.pkg, m.run, overlay)
	if err == nil {
		return nil, nil
	}
	killers, unclear := red(out)
	if unclear != nil {
		unclear = fmt.Errorf("%w: %w\n%s", unclear, err, out)
	}
	return killers, unclear
}

// within bounds one run of tests: a bug may make them hang, which is red, too.
const within = "120s"

func test(pkg, run, overlay string) (string, error) {
	args := []string{"test", "-vet=off", "-count=1", "-timeout", within, "-run", run}
	if overlay != "" {
		args = append(args, "-failfast", "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Dir = pkg
	out, err := cmd.CombinedOutput()
	if err == nil && strings.Contains(string(out), "no tests to run") {
		return "", fmt.Errorf("%s has no test %s", pkg, run)
	}
	return string(out), err
}

var (
	failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	dead   = regexp.MustCompile(`(?m)^(panic: .*|fatal error: .*)$`)
)

// red says what turned red. A bug that does not compile is none.
func red(out string) (killers []string, err error) {
	if strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]") {
		return nil, errors.New("it does not compile")
	}
	for _, m := range failed.FindAllStringSubmatch(out, -1) {
		killers = append(killers, m[1])
	}
	if len(killers) == 0 {
		if m := dead.FindString(out); m != "" {
			return []string{m}, nil
		}
		return nil, errors.New("the tests failed without saying which")
	}
	return killers, nil
}
