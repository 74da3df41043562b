// Command table turns the raw output of bench.sh into tables for people:
// the median of each row and column.
//
//	go run ./cmd/table out/A.txt
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"log"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A cell is all values of one unit in one row and column.
type cell struct{ peer, load string }

var (
	peer  = regexp.MustCompile(`/?(?:fw=([^/]+)/)?peer=([^/\s]+?)(?:-\d+)?(?:/|$)`)
	load  = regexp.MustCompile(`/load=([^/\s]+?)(?:-\d+)?$`)
	units = map[string]bool{"ns/op": true, "ns/decision": true, "allocs/op": true, "heapB/key": true, "fullGC-ms": true,
		"decisions/s": true, "p50-us": true, "p99-us": true, "of-compared": true, "requests/s": true,
		"p99.9-ns": true, "max-ns": true, "victim-p99.9-ns": true, "victim-max-ns": true, "peak-MiB": true, "after-MiB": true}
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: table FILE...")
	}
	for _, name := range os.Args[1:] {
		f, err := os.Open(name)
		if err != nil {
			log.Fatal(err)
		}
		values := map[cell][]float64{}
		for s := bufio.NewScanner(f); s.Scan(); {
			read(values, strings.Fields(s.Text()))
		}
		f.Close()
		print(values)
	}
}

// read adds one line of benchmark output: a name, a count, values with units.
func read(values map[cell][]float64, fields []string) {
	if len(fields) < 4 {
		return
	}
	m := peer.FindStringSubmatch(fields[0])
	if m == nil {
		return
	}
	row := strings.TrimPrefix(m[1]+" "+m[2], " ")
	at := ""
	if l := load.FindStringSubmatch(fields[0]); l != nil {
		at = l[1] + " "
	}
	for i := 2; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if unit := fields[i+1]; err == nil && units[unit] && (at == "" || !strings.HasPrefix(at, "unique") || unit != "ns/op") {
			c := cell{row, at + unit}
			values[c] = append(values[c], v)
		}
	}
}

func print(values map[cell][]float64) {
	rows, columns := map[string]bool{}, map[string]bool{}
	for c := range values {
		rows[c.peer], columns[c.load] = true, true
	}
	heads := slices.Sorted(maps.Keys(columns))
	fmt.Printf("| | %s |\n|---|%s\n", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	names := slices.Collect(maps.Keys(rows))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(median(values[cell{a, heads[0]}]), median(values[cell{b, heads[0]}])), cmp.Compare(a, b))
	})
	for _, r := range names {
		fmt.Printf("| %s |", r)
		for _, h := range heads {
			if v := values[cell{r, h}]; len(v) > 0 {
				fmt.Printf(" %s |", short(median(v)))
			} else {
				fmt.Print(" |")
			}
		}
		fmt.Println()
	}
	fmt.Println()
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func short(v float64) string {
	if v < 100 && v != float64(int(v)) {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
