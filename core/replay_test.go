package core

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The vectors were recorded by running the unmodified ancestors and peers on a
// frozen clock. They are facts about those, not orders: each test here names
// where this library differs on purpose, and counts what it does not compare.

type vectors struct {
	Scenarios []scenario `json:"scenarios"`
	Cases     []struct { // django-window-end
		Value     string `json:"value"`
		Period    int64  `json:"period_s"`
		Now       int64  `json:"now_ms"`
		WindowEnd int64  `json:"window_end_s"`
	} `json:"cases"`
}

type scenario struct {
	Name    string `json:"name"`
	Variant string `json:"variant"`
	Epoch   int64  `json:"epoch_ms"`
	Rate    struct {
		Limit    int64 `json:"limit"`
		Period   int64 `json:"period_ms"`
		Count    int64 `json:"count"`
		MaxBurst int64 `json:"max_burst"`
		Rate     int64 `json:"rate"`
		Burst    int64 `json:"burst"`
	} `json:"rate"`
	Limits []struct {
		Limit     int64 `json:"limit"`
		Period    int64 `json:"period_ms"`
		Precision int64 `json:"precision_ms"`
	} `json:"limits"`
	Minutes           int64           `json:"minutes"`
	Alignment         string          `json:"alignment"`
	FirstDisagreement *int            `json:"first_disagreement"`
	BoundarySensitive bool            `json:"boundary_sensitive"`
	Oddity            json.RawMessage `json:"oddity"`
	Steps             []recorded      `json:"steps"`
}

type recorded struct {
	At          int64           `json:"at_ms"`
	Op          string          `json:"op"`
	Key         string          `json:"key"`
	Keys        []string        `json:"keys"`
	Value       string          `json:"value"`
	Post        json.RawMessage `json:"post"`
	Cost        int64           `json:"cost"`
	Weight      int64           `json:"weight"`
	Limit       *int64          `json:"limit"`
	Allowed     bool            `json:"allowed"`
	AllowedN    int64           `json:"allowed_n"`
	Drained     bool            `json:"drained"`
	Remaining   *int64          `json:"remaining"`
	Reset       *int64          `json:"reset_ms"`
	Counts      [][]int64       `json:"counts"`
	Used        [][]int64       `json:"used"`
	ResetAfter  float64         `json:"reset_after_ms"`
	RetryAfter  float64         `json:"retry_after_ms"`
	ResetNS     int64           `json:"reset_after_ns"`
	RetryNS     int64           `json:"retry_after_ns"`
	WindowEnd   int64           `json:"window_end_s"`
	Increment   bool            `json:"increment"`
	Applies     *bool           `json:"applies"`
	Count       int64           `json:"count"`
	ShouldLimit bool            `json:"should_limit"`
	Boundary    bool            `json:"boundary"`
	Quirk       string          `json:"quirk"`
	Error       string          `json:"error"`
}

// A replay runs the scenarios of one file and keeps the tally of its steps.
type replay struct {
	*testing.T
	vectors
	now   int64 // of the step
	cells map[string]*counter
	tally map[string]int
}

const compared = "compared"

func newReplay(t *testing.T, family string) *replay {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "vectors", family+".json"))
	if err != nil {
		t.Fatal(err)
	}
	r := &replay{T: t, tally: map[string]int{}}
	if err := json.Unmarshal(b, &r.vectors); err != nil {
		t.Fatal(err)
	}
	return r
}

// each replays all steps. step answers why it compared nothing, or "". With
// more to come in the scenario that can not be compared, it answers that as
// rest.
func (r *replay) each(step func(sc *scenario, i int, st *recorded) (skipped, rest string)) {
	for _, sc := range r.Scenarios {
		r.cells = map[string]*counter{}
		rest := ""
		if sc.Oddity != nil {
			rest = "defect of the reference"
		}
		for i := range sc.Steps {
			st := &sc.Steps[i]
			r.now = (sc.Epoch + st.At) * ms
			why := rest
			if why == "" {
				before := r.Failed()
				why, rest = step(&sc, i, st)
				if r.Failed() && !before {
					r.Errorf("first failure at step %d of %q (%s)", i, sc.Name, sc.Variant)
				}
			}
			if why == "" {
				why = compared
			}
			r.tally[why]++
		}
	}
}

// cell is the counter of a key, as a store would hold it at the step.
func (r *replay) cell(key string, s Strategy, rate Rate) *counter {
	c := r.kept(key, s, rate)
	c.reclaim(r.now)
	return c
}

// kept is the same from a store that never forgets.
func (r *replay) kept(key string, s Strategy, rate Rate) *counter {
	if r.cells[key] == nil {
		r.cells[key] = newCounter(r.T, s, rate)
	}
	return r.cells[key]
}

func (r *replay) equal(what string, got, want int64) {
	r.Helper()
	if got != want {
		r.Errorf("%s is %d, recorded %d", what, got, want)
	}
}

func (r *replay) admitted(v Verdict, want bool) {
	r.Helper()
	if v.OK != want {
		r.Errorf("admitted is %v, recorded %v: %+v", v.OK, want, v)
	}
}

// tallied asserts how many steps were compared and what became of the others.
func (r *replay) tallied(want map[string]int) {
	r.Helper()
	if !maps.Equal(r.tally, want) {
		r.Errorf("steps: %v, want %v", r.tally, want)
	}
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
