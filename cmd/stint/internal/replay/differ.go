package replay

import (
	"strings"

	"github.com/stint-go/stint/cmd/stint/internal/trace"
)

// Differences are the requests that some lanes let through and others refuse.
type Differences struct {
	Requests int64     // that not all lanes agree about
	Against  [][]int64 // [i][j]: allowed by lane i and refused by lane j
	by       *counts
}

func (d *Differences) note(e *trace.Entry, row []Outcome) {
	if d.Against == nil {
		d.by = newCounts()
		d.Against = make([][]int64, len(row))
		for i := range d.Against {
			d.Against[i] = make([]int64, len(row))
		}
	}
	differs := false
	for i := range row {
		for j := range row {
			if row[i].Err == nil && row[j].Err == nil && row[i].Allowed && !row[j].Allowed {
				d.Against[i][j]++
				differs = true
			}
		}
	}
	if differs {
		d.Requests++
		d.by.add(Identity{Key: strings.Clone(keyOf(e, row))}, 1, 0)
	}
}

// keyOf is whom an entry is counted for, as the first lane that counts says.
func keyOf(e *trace.Entry, row []Outcome) string {
	if len(e.Keys) > 0 {
		return strings.Join(e.Keys, ", ")
	}
	for i := range row {
		if row[i].Applied {
			return KeyText(row[i].Key)
		}
	}
	return ""
}

// Top are the identities that the lanes disagree about most; Requests says how
// often.
func (d *Differences) Top(n int) []KeyCount {
	if d.by == nil {
		return nil
	}
	return d.by.top(n)
}
