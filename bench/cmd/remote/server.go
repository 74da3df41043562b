package main

import (
	"bufio"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/stint-go/stint/bench"
	"github.com/stint-go/stint/internal/servers"
)

// countAll says what a decision on a known key sends and receives, and which
// commands the server runs for it, those of scripts included.
func countAll(s *servers.Server, systems []*system) error {
	const n = 1000
	for _, y := range systems {
		ask := func() error {
			for _, k := range bench.Keys[:n] {
				if _, err := y.open(background, k); err != nil {
					return fmt.Errorf("%s: %w", y.Name, err)
				}
			}
			return nil
		}
		if err := ask(); err != nil {
			return err
		}
		s.Do("CONFIG", "RESETSTAT")
		if err := ask(); err != nil {
			return err
		}
		info := s.Do("INFO", "everything")
		fmt.Printf("%s: %.0f B to the server, %.0f B back;", y.Name, stat(info, "total_net_input_bytes:")/n, stat(info, "total_net_output_bytes:")/n)
		for lines := bufio.NewScanner(strings.NewReader(info)); lines.Scan(); {
			if command, ok := strings.CutPrefix(lines.Text(), "cmdstat_"); ok {
				if calls := stat(command, "calls="); calls >= n {
					fmt.Printf(" %.0f %s (%.1f µs)", calls/n, command[:strings.Index(command, ":")], stat(command, "usec_per_call="))
				}
			}
		}
		fmt.Println()
	}
	return nil
}

// stat is the number behind a name.
func stat(text, name string) float64 {
	_, rest, _ := strings.Cut(text, name)
	end := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(rest)
	}
	v, _ := strconv.ParseFloat(rest[:end], 64)
	return v
}

// benchmarkScripts sends the EVALSHA of every peer that has one as fast as the
// server takes it: 50 connections, 16 commands at once, 10,000 keys.
func benchmarkScripts(s *servers.Server, systems []*system) error {
	for round := range *rounds {
		for _, y := range systems {
			if _, err := y.open(background, bench.Keys[0]); err != nil {
				return fmt.Errorf("%s: %w", y.Name, err)
			}
			line := y.recorder.Last()
			if line == nil || strings.Contains(y.Name, "-five") || fmt.Sprint(line[2]) != "1" || strings.HasPrefix(y.Name, "raw-stint") {
				continue
			}
			args := []string{"-p", s.Port(), "-P", "16", "-c", "50", "-n", "200000", "-r", "10000", "--csv"}
			for i, a := range line {
				if i == 3 {
					a = "script:" + y.Name + ":__rand_int__"
				}
				args = append(args, fmt.Sprint(a))
			}
			out, err := exec.CommandContext(background, "redis-benchmark", args...).Output()
			if err != nil {
				return fmt.Errorf("redis-benchmark: %w", err)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			fields := strings.Split(lines[len(lines)-1], `","`)
			if len(fields) < 2 {
				return fmt.Errorf("redis-benchmark wrote %q", out)
			}
			fmt.Printf("BenchmarkScript/peer=%s/load=pipelined %d %s requests/s\n", y.Name, round+1, strings.Trim(fields[1], `"`))
		}
	}
	return nil
}
