package main

import "fmt"

// A kind of row: faults happen, attacks are made.
type kind struct {
	test, label string
	rows        []string
}

// The rows are numbered by what breaks: A one Redis, B several, C memcached, D
// time and arithmetic, E keys and identity, F HTTP and frameworks, G resources
// and operations. docs/RELIABILITY.md says what each one is.
var kinds = []kind{
	{"Fault", "faults survived", join(series('A', 1, 19), series('B', 1, 9), series('C', 1, 10), series('F', 6, 8), series('G', 1, 11))},
	{"Attack", "attacks repelled", join(series('D', 1, 12), series('E', 1, 11), series('F', 1, 5), series('F', 9, 14))},
}

func series(letter rune, first, last int) (rows []string) {
	for i := first; i <= last; i++ {
		rows = append(rows, fmt.Sprintf("%c%d", letter, i))
	}
	return rows
}

func join(parts ...[]string) (all []string) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// kindOf is the word that the tests of a row have in their names, "" where there
// is no such row.
func kindOf(row string) string {
	for _, k := range kinds {
		for _, r := range k.rows {
			if r == row {
				return k.test
			}
		}
	}
	return ""
}
