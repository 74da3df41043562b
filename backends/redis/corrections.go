package redislimit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stint-go/stint/core"
)

// settling has the program that makes corrections, by the server's clock and by
// explicit instants. One for all plans: a correction comes when the request has
// been answered, and nobody waits for it.
var settling = [2]*program{newSettling(false), newSettling(true)}

// correctionNumbers are those of a correction in that program's ARGV, in their
// order.
var correctionNumbers = strings.Fields("kind delta limit window precision counters phase aligned length " +
	"costq costr ra rb rc rlimit banfirst banlongest banforgive")

func newSettling(explicit bool) *program {
	from := 1
	if explicit {
		from = 2
	}
	number := func(name string) string {
		if name == "boundary" {
			return "now+$length-(now-$phase)%$length*$aligned"
		}
		if k := slices.Index(correctionNumbers, name); k >= 0 {
			return fmt.Sprintf("a[%d]", k+1)
		}
		return "$" + name // for finish
	}
	variable := func(name string) string {
		switch name {
		case "key":
			return "KEYS[i]"
		case "bad":
			return name
		}
		return name + "1" // apart from the fragments' own
	}
	var correct strings.Builder
	locals := []string{variable("raw")}
	for k, kind := range kinds {
		f := fragments[kind]
		word := "elseif"
		if k == 0 {
			word = "if"
		}
		fmt.Fprintf(&correct, "%s $kind == %d then\n%s", word, k, f.correct())
		for _, name := range f.state {
			if name = variable(name); !slices.Contains(locals, name) {
				locals = append(locals, name)
			}
		}
	}
	text := strings.NewReplacer(
		"$correct", correct.String()+"end",
		"$locals", strings.Join(locals, ","),
		"$count", strconv.Itoa(len(correctionNumbers)),
		"$from", strconv.Itoa(from),
	).Replace(code(source("settle")))
	text = fill(fill(text, variable, number), variable, number) // twice: boundary has numbers
	return newProgram(clock(explicit) + finish(text, explicit))
}

// A correction is what Settle does to one charge.
type correction struct {
	receipt core.Receipt
	delta   int64
}

// vain tells whether a correction does nothing, whatever its cell holds.
func (c *correction) vain() bool { return c.delta == 0 || c.delta < 0 && c.receipt == core.Receipt{} }

// appendNumbers appends a correction as the program takes it.
func (c *correction) appendNumbers(args []any, t *target) []any {
	delta := max(c.delta, -core.MaxCount)
	spanq, spanr := t.span(max(delta, -delta))
	phase, aligned := t.placed()
	ra, rb, rlimit := c.receipt.A, c.receipt.B, int64(0)
	if t.Strategy == "gcra" {
		rb, rlimit = c.receipt.B>>32, c.receipt.B&(1<<32-1)
	}
	p := t.step.plan()
	for _, n := range [...]int64{
		int64(slices.Index(kinds, t.Strategy)), min(delta, core.MaxCount), t.Limit, t.Window, t.Precision,
		int64(t.Counters), phase, aligned, p.length(), spanq, spanr, ra, rb, c.receipt.C, rlimit, t.BanFirst, t.BanLongest, t.BanForgive,
	} {
		args = append(args, n)
	}
	return args
}
