package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/stint-go/stint/cmd/stint/internal/replay"
)

// A summary says what became of a run.
type summary struct {
	run    *replay.Run
	top    int
	forgot int64
	sorted bool // late lines were put in order
}

// table is for people.
func (s summary) table(w io.Writer) {
	r := &s.run.Result
	if r.Interrupted {
		fmt.Fprintln(w, "Interrupted. So far:")
	}
	fmt.Fprintf(w, "%s requests", grouped(r.Entries))
	if r.Entries > 0 {
		fmt.Fprintf(w, ", %s", span(r.From, r.To))
	}
	if rate := r.Entries * int64(time.Second) / max(int64(r.Took), 1); r.Took > time.Second {
		fmt.Fprintf(w, "; decided at %s a second", grouped(rate))
	}
	fmt.Fprint(w, "\n\n")
	s.lanes(w)
	s.keys(w)
	s.differences(w)
	s.notes(w)
}

func (s summary) lanes(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tallowed\trefused\t\tkeys\trefused keys\t\n")
	for _, l := range s.run.Lanes {
		keys, refused := l.Keys()
		fmt.Fprintf(t, "  %-*s\t%s\t%s\t%s\t%s\t%s\t\n", s.width(), l.Name, grouped(l.Totals.Allowed), grouped(l.Totals.Refused),
			percent(l.Totals.Refused, l.Totals.Requests), grouped(keys), grouped(refused))
	}
	t.Flush()
	for _, l := range s.run.Lanes {
		for _, n := range []struct {
			n    int64
			what string
		}{
			{l.Totals.Annotated, "allowed although over a limit that only annotates"},
			{l.Totals.Unlimited, "allowed as no policy applied"},
			{l.Totals.Looks, "looks"},
			{l.Totals.Refunds, "refunds"},
			{l.Totals.Undecided, "that could not be decided, as of a client without an address: answered with an error, and not counted above"},
		} {
			if n.n > 0 {
				fmt.Fprintf(w, "  %s: %s %s\n", l.Name, grouped(n.n), n.what)
			}
		}
	}
}

func (s summary) keys(w io.Writer) {
	for _, l := range s.run.Lanes {
		top := l.Top(s.top)
		if len(top) == 0 || top[0].Refused == 0 || len(s.run.Lanes) > 2 { // too much to compare
			continue
		}
		fmt.Fprintf(w, "\nRefused most by %s:\n", l.Name)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, k := range top {
			if k.Refused > 0 {
				fmt.Fprintf(t, "  %s\t%s of %s\t%s\t%s\n", printable(k.Key), grouped(k.Refused), grouped(k.Requests), percent(k.Refused, k.Requests), s.policy(k))
			}
		}
		t.Flush()
	}
}

// policy names the policy of a count where there are several.
func (s summary) policy(k replay.KeyCount) string {
	for _, l := range s.run.Lanes {
		if l.Policies() > 1 {
			return k.Policy
		}
	}
	return ""
}

func (s summary) differences(w io.Writer) {
	d, lanes := &s.run.Result.Differ, s.run.Lanes
	if len(lanes) < 2 {
		return
	}
	if d.Requests == 0 {
		fmt.Fprint(w, "\nThey decide alike.\n")
		return
	}
	fmt.Fprintf(w, "\nThey differ in %s requests. Allowed by the one on the left, refused by the one above:\n", grouped(d.Requests))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, l := range lanes {
		fmt.Fprintf(t, "\t%s", l.Name)
	}
	fmt.Fprintln(t, "\t")
	for i, row := range d.Against {
		fmt.Fprintf(t, "  %-*s", s.width(), lanes[i].Name)
		for j, n := range row {
			if i == j {
				fmt.Fprint(t, "\t-")
			} else {
				fmt.Fprintf(t, "\t%s", grouped(n))
			}
		}
		fmt.Fprintln(t, "\t")
	}
	t.Flush()
	fmt.Fprint(w, "\nMost of these requests are of:\n")
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, k := range d.Top(s.top) {
		fmt.Fprintf(t, "  %s\t%s\n", printable(k.Key), grouped(k.Requests))
	}
	t.Flush()
}

// width is that of the longest name of a lane.
func (s summary) width() (n int) {
	for _, l := range s.run.Lanes {
		n = max(n, utf8.RuneCountInString(l.Name))
	}
	return n
}

func (s summary) notes(w io.Writer) {
	r := &s.run.Result
	if r.Late > 0 && !s.sorted {
		fmt.Fprintf(w, "\n%s requests came with a time before that of an earlier line, %v at most; --sort puts them in order.\n", grouped(r.Late), time.Duration(r.MaxLate)*time.Microsecond)
	}
	if r.Broken > 0 {
		fmt.Fprintf(w, "\n%s lines could not be read:\n", grouped(r.Broken))
		for i, b := range r.FirstBroken {
			if i == 5 {
				break
			}
			fmt.Fprintf(w, "  %s:%d: %v: %s\n", b.File, b.Line, b.Err, printable(b.Text))
		}
	}
	if s.forgot > 0 {
		fmt.Fprintf(w, "\nMemory had no room for %s counters: the figures are too friendly.\n", grouped(s.forgot))
	}
}

// span says from when to when. Traces that begin at their own 0 have no dates.
func span(from, to int64) string {
	length := time.Duration(to-from) * time.Microsecond
	if !dated(to) {
		return fmt.Sprintf("over %v", length)
	}
	const layout = "2006-01-02 15:04:05"
	return fmt.Sprintf("%s to %s UTC (%v)", time.UnixMicro(from).UTC().Format(layout), time.UnixMicro(to).UTC().Format(layout), length.Round(time.Second))
}

// dated reports whether instants are dates, rather than counted from a 0 of the
// trace's own.
func dated(last int64) bool { return last >= 10*365*86400*1e6 }

func percent(n, of int64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g %%", float64(n)/float64(of)*100)
}

// printable is a text from a log without what could play tricks on a terminal,
// and not too long.
func printable(s string) string {
	if len(s) > 60 {
		s = s[:60] + "..."
	}
	out := []rune(s)
	for i, r := range out {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError || r >= 0x202a && r <= 0x202e {
			out[i] = '?'
		}
	}
	return string(out)
}

type jsonKey struct {
	Policy   string `json:"policy,omitempty"`
	Key      string `json:"key"`
	Requests int64  `json:"requests"`
	Refused  int64  `json:"refused"`
}

type jsonLane struct {
	Name        string    `json:"name"`
	Requests    int64     `json:"requests"`
	Allowed     int64     `json:"allowed"`
	Refused     int64     `json:"refused"`
	Annotated   int64     `json:"annotated"`
	Unlimited   int64     `json:"unlimited"`
	Undecided   int64     `json:"undecided"`
	Looks       int64     `json:"looks"`
	Refunds     int64     `json:"refunds"`
	Keys        int64     `json:"keys"`
	RefusedKeys int64     `json:"refused_keys"`
	Top         []jsonKey `json:"top"`
}

type jsonBroken struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	Error string `json:"error"`
}

// json is for programs. The totals at the top are those of the first lane.
func (s summary) json(w io.Writer) error {
	r := &s.run.Result
	out := struct {
		jsonTotals
		Lanes []jsonLane `json:"lanes"`
	}{jsonTotals: jsonTotals{
		Entries: r.Entries, Broken: r.Broken, Late: r.Late, FromMS: millis(r.From), ToMS: millis(r.To),
		Interrupted: r.Interrupted, Seconds: r.Took.Seconds(), Differ: r.Differ.Requests, Forgotten: s.forgot, BrokenLines: []jsonBroken{},
	}}
	for _, b := range r.FirstBroken {
		out.BrokenLines = append(out.BrokenLines, jsonBroken{b.File, b.Line, b.Err.Error()})
	}
	for i, l := range s.run.Lanes {
		t := l.Totals
		lane := jsonLane{Name: l.Name, Requests: t.Requests, Allowed: t.Allowed, Refused: t.Refused, Annotated: t.Annotated,
			Unlimited: t.Unlimited, Undecided: t.Undecided, Looks: t.Looks, Refunds: t.Refunds, Top: []jsonKey{}}
		lane.Keys, lane.RefusedKeys = l.Keys()
		for _, k := range l.Top(s.top) {
			lane.Top = append(lane.Top, jsonKey{s.policy(k), k.Key, k.Requests, k.Refused})
		}
		if i == 0 {
			out.Requests, out.Allowed, out.Refused, out.Undecided = t.Requests, t.Allowed, t.Refused, t.Undecided
			out.Keys, out.RefusedKeys = lane.Keys, lane.RefusedKeys
		}
		out.Lanes = append(out.Lanes, lane)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

type jsonTotals struct {
	Requests    int64        `json:"requests"`
	Allowed     int64        `json:"allowed"`
	Refused     int64        `json:"refused"`
	Undecided   int64        `json:"undecided"`
	Keys        int64        `json:"keys"`
	RefusedKeys int64        `json:"refused_keys"`
	Entries     int64        `json:"entries"`
	Broken      int64        `json:"broken"`
	BrokenLines []jsonBroken `json:"broken_lines"`
	Late        int64        `json:"late"`
	FromMS      float64      `json:"from_ms"`
	ToMS        float64      `json:"to_ms"`
	Interrupted bool         `json:"interrupted"`
	Seconds     float64      `json:"seconds"`
	Differ      int64        `json:"differ"`
	Forgotten   int64        `json:"forgotten"`
}

func millis(us int64) float64 { return float64(us) / 1000 }
