package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-go/stint/internal/servers"
)

// The vectors were recorded by running the ancestors and peers on a frozen clock.
// They are facts about those, not orders: core's own tests name every difference.
// Here they prove that the command asks core the right questions.

type scenario struct {
	Name, Variant string
	Epoch         int64 `json:"epoch_ms"`
	Rate          struct {
		Limit    int64
		Period   int64 `json:"period_ms"`
		Count    int64
		MaxBurst int64 `json:"max_burst"`
		Rate     int64
		Burst    int64
	}
	Limits []struct {
		Limit     int64
		Period    int64 `json:"period_ms"`
		Precision int64 `json:"precision_ms"`
	}
	Minutes           int64
	Alignment         string
	FirstDisagreement *int `json:"first_disagreement"`
	BoundarySensitive bool `json:"boundary_sensitive"`
	Oddity            json.RawMessage
	Steps             []recorded
}

type recorded struct {
	At          int64 `json:"at_ms"`
	Op, Key     string
	Keys        []string
	Value       string
	Post        json.RawMessage
	Cost        *int64
	Weight      *int64
	Limit       *int64
	Allowed     bool
	Remaining   *int64
	Count       int64
	Increment   bool
	Applies     *bool
	ShouldLimit bool `json:"should_limit"`
	Boundary    bool
	Quirk       string
	RetryNS     *int64   `json:"retry_after_ns"`
	RetryMS     *float64 `json:"retry_after_ms"`
}

// A question is one step as the command is asked about it.
type question struct {
	at        int64 // ms
	op        string
	keys      []string
	cost      int64
	want      bool
	remaining *int64
	never     bool // the wait is
	skip      string
}

// A family is how the scenarios of one file are put to the command: its flags,
// and a question per step. rest is why the steps from there on are not compared.
type family struct {
	flags func(*scenario) (args []string, rest string)
	ask   func(sc *scenario, i int, q *question) (rest string)
	tally map[string]int
}

func every(units, ms int64) string { return fmt.Sprintf("%d/%dms", units, ms) }

var families = map[string]family{
	"fixed-window": {
		flags: func(sc *scenario) ([]string, string) {
			return []string{"--rate", every(sc.Rate.Limit, sc.Rate.Period), "--strategy", "fixed-window", "--align", "first", "--count-denied"}, ""
		},
		ask: func(sc *scenario, i int, q *question) string {
			st := sc.Steps[i]
			if sc.Variant == "redis" && sc.FirstDisagreement != nil && i >= *sc.FirstDisagreement {
				return "closed window"
			}
			if q.cost == 0 && st.Count > sc.Rate.Limit && sc.Rate.Limit > 0 {
				q.skip = "cost 0 in a cell filled by refusals"
			}
			return ""
		},
		tally: map[string]int{"compared": 158, "closed window": 2, "cost 0 in a cell filled by refusals": 2},
	},
	"moving-window": {
		flags: func(sc *scenario) ([]string, string) {
			return []string{"--rate", every(sc.Rate.Limit, sc.Rate.Period), "--strategy", "moving-window"}, ""
		},
		ask: func(sc *scenario, i int, q *question) string {
			st := sc.Steps[i]
			switch {
			case sc.BoundarySensitive && st.Boundary:
				return "closed window"
			case st.Quirk != "" && st.Op == "test":
				q.skip = "quirk of the reference"
			}
			if !st.Boundary && st.Op != "test" && q.want {
				q.remaining = st.Remaining
			}
			return ""
		},
		tally: map[string]int{"compared": 184, "closed window": 36},
	},
	"sliding-window-counter": {
		flags: func(sc *scenario) ([]string, string) {
			return []string{"--rate", every(sc.Rate.Limit, sc.Rate.Period), "--strategy", "sliding-window", "--align", "clock"}, ""
		},
		ask: func(sc *scenario, i int, q *question) string {
			if sc.Variant == "redis" && sc.FirstDisagreement != nil && i >= *sc.FirstDisagreement {
				return "other alignment"
			}
			if sc.Variant == "memory" && q.cost > 0 {
				q.remaining = sc.Steps[i].Remaining
			}
			return ""
		},
		tally: map[string]int{"compared": 213, "other alignment": 11},
	},
	"httprate-sliding-window": {
		flags: func(sc *scenario) ([]string, string) {
			args := []string{"--rate", every(sc.Rate.Limit, sc.Rate.Period), "--strategy", "sliding-window", "--align", "clock"}
			for _, st := range sc.Steps {
				if st.Limit != nil {
					return args, "a limit per request"
				}
			}
			return args, ""
		},
		ask: func(sc *scenario, i int, q *question) string {
			if sc.Alignment == "start" { // its windows begin at the trace's 0, as ours do
				q.at -= sc.Epoch
			}
			if rounded(sc, i) {
				return "rounded up"
			}
			if sc.Rate.Limit == 0 && q.cost == 0 {
				q.skip = "cost 0 under limit 0"
			}
			return ""
		},
		tally: map[string]int{"compared": 73, "a limit per request": 7, "rounded up": 26, "cost 0 under limit 0": 1, "defect of the reference": 9},
	},
	"subbucket-sliding-window": {
		flags: func(sc *scenario) ([]string, string) {
			var rates []string
			for _, l := range sc.Limits {
				precision := l.Precision
				if precision == 0 {
					precision = l.Period
				}
				if precision < l.Period && l.Period%precision != 0 {
					return nil, "refused by Bind"
				}
				rates = append(rates, fmt.Sprintf("%s@%dms", every(l.Limit, l.Period), precision))
			}
			return []string{"--rate", strings.Join(rates, "; "), "--strategy", "bucketed-window", "--inclusive", "--align", "clock"}, ""
		},
		tally: map[string]int{"compared": 79, "defect of the reference": 40, "refused by Bind": 4},
	},
	"multi-bucket-counter": {
		flags: func(sc *scenario) ([]string, string) {
			var rates []string
			for _, l := range sc.Limits {
				rates = append(rates, every(l.Limit, l.Period))
			}
			return []string{"--rate", strings.Join(rates, "; "), "--strategy", "fixed-window", "--align", "clock"}, ""
		},
		ask: func(sc *scenario, i int, q *question) string {
			for _, before := range sc.Steps[:i] {
				if !before.Allowed && (len(sc.Limits) > 1 || len(before.Keys) > 1) {
					return "refusal counted in part"
				}
			}
			return ""
		},
		tally: map[string]int{"compared": 42, "refusal counted in part": 16},
	},
	"minute-buckets": {
		flags: func(sc *scenario) ([]string, string) {
			if sc.Minutes == 0 {
				return []string{"--rate", fmt.Sprintf("%d/m", sc.Rate.Limit), "--strategy", "bucketed-window", "--precision", "1m", "--inclusive", "--align", "clock", "--count-denied"}, ""
			}
			return []string{"--rate", fmt.Sprintf("%d/%dm", sc.Rate.Limit, sc.Minutes), "--strategy", "bucketed-window", "--precision", "1m", "--align", "clock", "--count-denied"}, ""
		},
		ask: func(sc *scenario, i int, q *question) string {
			st := sc.Steps[i]
			if st.Post == nil && strings.HasPrefix(sc.Name, "post-") {
				q.skip = "method not limited"
			}
			q.keys = []string{st.Key + string(st.Post)}
			return ""
		},
		tally: map[string]int{"compared": 102, "method not limited": 3},
	},
	"redis-rolling-window": {
		flags: func(sc *scenario) ([]string, string) {
			rate := every(sc.Rate.Limit, sc.Rate.Period)
			if sc.Variant == "counter" {
				return []string{"--rate", rate, "--strategy", "fixed-window", "--align", "first", "--count-denied"}, ""
			}
			if sc.Variant == "list" && sc.BoundarySensitive {
				return nil, "closed window"
			}
			return []string{"--rate", rate, "--strategy", "moving-window"}, ""
		},
		ask: func(sc *scenario, i int, q *question) string {
			if sc.Variant == "counter" && atWindowEnd(sc, i) {
				return "closed window"
			}
			return ""
		},
		tally: map[string]int{"compared": 117, "closed window": 33, "defect of the reference": 14},
	},
	"gcra-throttled": {
		flags: func(sc *scenario) ([]string, string) {
			return []string{"--rate", every(sc.Rate.Count, sc.Rate.Period), "--strategy", "gcra", "--burst", fmt.Sprint(sc.Rate.MaxBurst + 1)}, ""
		},
		ask: func(sc *scenario, i int, q *question) string {
			if st := sc.Steps[i]; st.Quirk == "" {
				q.remaining = st.Remaining
				q.never = !st.Allowed && *st.RetryNS < 0
			}
			return ""
		},
		tally: map[string]int{"compared": 121, "defect of the reference": 4},
	},
	"gcra-redis-rate": {
		flags: func(sc *scenario) ([]string, string) {
			if sc.Rate.Burst == 0 {
				return nil, "burst 0 means the limit"
			}
			return []string{"--rate", every(sc.Rate.Rate, sc.Rate.Period), "--strategy", "gcra", "--burst", fmt.Sprint(sc.Rate.Burst)}, ""
		},
		ask: func(sc *scenario, i int, q *question) string {
			st := sc.Steps[i]
			if st.Op == "at_most" {
				return "as much as fits"
			}
			if st.Allowed {
				q.remaining = st.Remaining
			}
			return ""
		},
		tally: map[string]int{"compared": 85, "burst 0 means the limit": 3, "defect of the reference": 4, "as much as fits": 15},
	},
	// Windows of django-ratelimit begin at an offset of the value's own, in whole
	// seconds: instants are moved by it, key by key, and cells know no other clock.
	"django-window-sequence": {
		flags: func(sc *scenario) ([]string, string) {
			return []string{"--rate", every(sc.Rate.Limit, sc.Rate.Period), "--strategy", "fixed-window", "--align", "clock", "--count-denied"}, ""
		},
		ask: func(sc *scenario, i int, q *question) string {
			st := sc.Steps[i]
			q.keys, q.cost, q.want = []string{st.Value}, 1, !st.ShouldLimit
			q.at -= (int64(crc32.ChecksumIEEE([]byte(st.Value))) + 1) % (sc.Rate.Period / 1000) * 1000
			if !st.Increment {
				q.op, q.want = "peek", st.Count < sc.Rate.Limit
			}
			if st.Applies != nil && !*st.Applies {
				q.skip = "method not limited"
			}
			return ""
		},
		tally: map[string]int{"compared": 63, "method not limited": 5},
	},
}

// rounded reports whether httprate rounds the weighted sum up at a step, where
// this library rounds down. It counts along what was recorded as allowed.
func rounded(sc *scenario, i int) bool {
	window := func(at int64) int64 {
		if sc.Alignment == "wall" {
			at += sc.Epoch
		}
		return at / sc.Rate.Period
	}
	now, previous := sc.Steps[i].At, int64(0)
	for _, st := range sc.Steps[:i] {
		if st.Allowed && st.Key == sc.Steps[i].Key && window(st.At) == window(now)-1 {
			previous += *st.Cost
		}
	}
	if sc.Alignment == "wall" {
		now += sc.Epoch
	}
	left := sc.Rate.Period - now%sc.Rate.Period
	return previous*left%sc.Rate.Period*2 >= sc.Rate.Period
}

// atWindowEnd reports whether a window from the first hit ends exactly at a step.
func atWindowEnd(sc *scenario, i int) bool {
	start := map[string]int64{}
	for _, st := range sc.Steps[:i+1] {
		if s, ok := start[st.Key]; !ok || st.At > s+sc.Rate.Period {
			start[st.Key] = st.At
		} else if st.At == s+sc.Rate.Period {
			return true
		}
	}
	return false
}

func TestVectorsOnMemory(t *testing.T) { testVectors(t, "memory") }

func TestVectorsOnRedis(t *testing.T) {
	server := servers.Redis(t)
	testVectors(t, "redis://"+server.Addr())
	if left := server.Do("dbsize"); left != "0" {
		t.Errorf("%s keys are left in Redis, want none", left)
	}
}

func TestVectorsOnMemcached(t *testing.T) {
	testVectors(t, "memcached://"+servers.Memcached(t).Addr())
}

func testVectors(t *testing.T, backend string) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", "core", "testdata", "vectors", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var v struct{ Scenarios []*scenario }
			if err := json.Unmarshal(text, &v); err != nil {
				t.Fatal(err)
			}
			tally := map[string]int{}
			for _, sc := range v.Scenarios {
				compare(t, &f, sc, backend, tally)
			}
			if !maps.Equal(tally, f.tally) {
				t.Errorf("steps: %v, want %v", tally, f.tally)
			}
		})
	}
}

// compare runs one scenario through the command.
func compare(t *testing.T, f *family, sc *scenario, backend string, tally map[string]int) {
	args, rest := f.flags(sc)
	if sc.Oddity != nil {
		rest = "defect of the reference"
	}
	var lines strings.Builder
	var asked []question
	for i, st := range sc.Steps {
		q := question{at: sc.Epoch + st.At, keys: st.Keys, cost: 1, want: st.Allowed}
		if q.keys == nil {
			q.keys = []string{st.Key}
		}
		for _, cost := range []*int64{st.Cost, st.Weight} {
			if cost != nil {
				q.cost = *cost
			}
		}
		if st.Op == "test" {
			q.op = "peek"
		}
		if rest == "" && f.ask != nil {
			rest = f.ask(sc, i, &q)
		}
		if rest != "" {
			tally[rest]++
			continue
		}
		if q.skip == "method not limited" {
			tally[q.skip]++
			continue
		}
		line := map[string]any{"at_ms": q.at, "keys": q.keys, "cost": q.cost}
		if q.op != "" {
			line["op"] = q.op
		}
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(text, '\n'))
		asked = append(asked, q)
	}
	if len(asked) == 0 {
		return
	}
	answers := decisions(t, lines.String(), append(args, "--backend", backend)...)
	if len(answers) != len(asked) {
		t.Fatalf("%s: %d decisions for %d requests", sc.Name, len(answers), len(asked))
	}
	for i, a := range answers {
		q := asked[i]
		if q.skip != "" {
			tally[q.skip]++
			continue
		}
		tally["compared"]++
		if a.Allowed != q.want {
			t.Errorf("%s (%s), request %d: allowed is %v, recorded %v: %+v", sc.Name, sc.Variant, i, a.Allowed, q.want, q)
		}
		if q.remaining != nil && a.Remaining != max(0, *q.remaining) {
			t.Errorf("%s (%s), request %d: remaining is %d, recorded %d", sc.Name, sc.Variant, i, a.Remaining, *q.remaining)
		}
		if q.never && a.RetryAfter != nil {
			t.Errorf("%s, request %d: retry after %v, want null", sc.Name, i, *a.RetryAfter)
		}
	}
}
