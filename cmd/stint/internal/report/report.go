// Package report writes what a replay found as one page that needs nothing else:
// no server, no network, no file beside it.
package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A Page is what is on the page. Instants are milliseconds, since the Unix epoch
// where Dated is set and since the trace's own 0 otherwise.
type Page struct {
	Files    []string `json:"files"`
	From     float64  `json:"from"`
	To       float64  `json:"to"`
	Dated    bool     `json:"dated"`
	Requests int64    `json:"requests"`
	Broken   int64    `json:"broken"`
	// Start and Step are of all the series.
	Start float64 `json:"start"`
	Step  float64 `json:"step"`
	Lanes []Lane  `json:"lanes"`
	// At is the index in each lane's Versions of the limits as they were asked for.
	At int `json:"at"`
}

// A Lane is one set of policies.
type Lane struct {
	Name string `json:"name"`
	// Versions are the lane with other limits, the strictest first.
	Versions []Version `json:"versions"`
	// Keys are those that were refused most, then those that asked most.
	Keys []Key `json:"keys"`
	// Bins are the keys by how much they asked for.
	Bins []Bin `json:"bins"`
}

// A Version is a lane under some limits.
type Version struct {
	Limits      string  `json:"limits"`
	Total       []int64 `json:"total"` // requests per step
	Refused     []int64 `json:"refused"`
	RefusedKeys int64   `json:"refusedKeys"`
	Keys        int64   `json:"keys"`
}

// A Key is one identity.
type Key struct {
	Name     string `json:"name"`
	Requests int64  `json:"requests"`
	Refused  int64  `json:"refused"`
}

// A Bin are the keys with Least to Most requests.
type Bin struct {
	Least   int64 `json:"least"`
	Most    int64 `json:"most"`
	Keys    int64 `json:"keys"`
	Refused int64 `json:"refused"` // of them, those that were ever refused
}

//go:embed page.html
var page string

const place = "/*DATA*/null"

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	before, after, ok := strings.Cut(page, place)
	if !ok {
		return fmt.Errorf("report: the page has no %s", place)
	}
	data, err := json.Marshal(p) // escapes what could end the script
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, before+string(data)+after)
	return err
}

// Bins sorts keys by how much they asked for, into powers of two.
func Bins(keys []Key) (bins []Bin) {
	for _, k := range keys {
		i, most := 0, int64(1)
		for ; k.Requests > most; most = 2*most + 1 {
			i++
		}
		for len(bins) <= i {
			n := len(bins)
			bins = append(bins, Bin{Least: 1 << n, Most: 2<<n - 1})
		}
		bins[i].Keys++
		if k.Refused > 0 {
			bins[i].Refused++
		}
	}
	return bins
}
