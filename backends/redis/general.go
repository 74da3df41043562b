package redislimit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kinds are the numbers of the strategies in the general program.
var kinds = []string{"fixed-window", "sliding-window", "bucketed-window", "moving-window", "gcra", "ban"}

// numbers are those of an ask in the general program's ARGV, in their order.
var numbers = strings.Fields("kind when soft last limit window precision counters phase aligned length " +
	"cost burst costq costr fullq fullr banfirst banlongest banforgive")

// general has the program that decides any asks, by the server's clock and by
// explicit instants.
var general = [2]*program{newGeneral(false), newGeneral(true)}

func newGeneral(explicit bool) *program {
	from := 1
	if explicit {
		from = 2
	}
	number := func(name string) string {
		if name == "boundary" {
			return "now+$length-(now-$phase)%$length*$aligned"
		}
		if k := slices.Index(numbers, name); k >= 0 {
			return fmt.Sprintf("a[(i-1)*%d+%d]", len(numbers), k+from)
		}
		return "$" + name // for finish
	}
	variable := func(name string) string {
		if name == "key" {
			return "KEYS[i]"
		}
		return name + "s[i]"
	}
	tables := map[string]bool{}
	var decide, charge strings.Builder
	for k, kind := range kinds {
		f := fragments[kind]
		word := "elseif"
		if k == 0 {
			word = "if"
		}
		fmt.Fprintf(&decide, "%s $kind == %d then\n%s", word, k, f.judge())
		fmt.Fprintf(&charge, "%s $kind == %d then\n%s", word, k, f.charge)
		for _, name := range f.state {
			tables[name] = true
		}
	}
	text := code(source("general"))
	text = strings.ReplaceAll(text, "$decide", decide.String()+"end")
	text = strings.ReplaceAll(text, "$charge", charge.String()+"end")
	text = strings.ReplaceAll(text, "$from", strconv.Itoa(from))
	for _, name := range []string{"raw", "ok", "bad"} {
		text = strings.ReplaceAll(text, "@"+name, name+"[i]")
	}
	text = fill(fill(text, variable, number), variable, number) // twice: boundary has numbers
	var locals strings.Builder
	for name := range tables {
		locals.WriteString("local " + name + "s={}\n")
	}
	head := slices.Sorted(strings.Lines(locals.String())) // one text, and so one SHA, in all processes
	return newProgram(clock(explicit) + finish(strings.Join(head, "")+text, explicit))
}

// appendNumbers appends a step as the general program takes it.
func (s *step) appendNumbers(args []any) []any {
	p := s.plan()
	bit := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	phase, aligned := s.placed()
	costq, costr := s.span(min(s.cost, s.Burst))
	fullq, fullr := s.span(s.Burst)
	for _, n := range [...]int64{
		int64(slices.Index(kinds, s.Strategy)), int64(s.when), bit(s.soft), bit(s.last), s.Limit, s.Window,
		s.Precision, int64(s.Counters), phase, aligned, p.length(),
		s.cost, s.Burst, costq, costr, fullq, fullr, s.BanFirst, s.BanLongest, s.BanForgive,
	} {
		args = append(args, n)
	}
	return args
}
