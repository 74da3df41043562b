package redislimit

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/stint-go/stint/core"
)

// A program decides and charges some asks, of one or several decisions, in one
// EVALSHA. It is assembled from the strategies' fragments in lua/.
//
// KEYS: the cells' names, one per ask.
// ARGV: the instant, where it is explicit; then numbers per ask: the phase and
// the cost where a plan's program needs them, all that general.lua lists where
// it is the general program.
// RETURN: the instant, then per ask what Rule.Decide looks at: the cell as it
// was before the decision (false: empty), or 1 where it holds something foreign.
// Go works out from them what was decided, with the rule itself.
type program struct {
	text, sha string
}

func newProgram(text string) *program {
	sum := sha1.Sum([]byte(text))
	return &program{text: text, sha: hex.EncodeToString(sum[:])}
}

// A step is one ask as programs see it.
type step struct {
	core.Program
	cost, phase int64
	when        core.When
	soft        bool
	last        bool // of its decision
}

// plan is what of a step is inlined in programs for it.
type plan struct {
	core.Program
	one, soft, last bool
	when            core.When
}

func (s *step) plan() plan {
	return plan{Program: s.Program, one: s.cost == 1, soft: s.soft, last: s.last, when: s.when}
}

// charges tells whether an ask can be charged at all.
func (p *plan) charges() bool { return p.when != core.Never && p.Limit > 0 }

// length is that of the windows whose edges the alignment places.
func (p *plan) length() int64 {
	if p.Precision > 0 {
		return p.Precision
	}
	return p.Window
}

// placed are the numbers that say where the general programs place windows: the
// phase, and whether it is one: 0 where windows begin at the first charge.
func (s *step) placed() (phase, aligned int64) {
	switch s.Align {
	case core.FirstHit:
		return 0, 0
	case core.Clock:
		return 0, 1
	}
	return s.phase, 1
}

func (p *plan) staggered() bool {
	return p.Align == core.Staggered && p.Strategy != "gcra" && p.Strategy != "moving-window"
}

// inline is the program of a plan, with its numbers as literals.
func inline(plans []plan, explicit bool) *program {
	var body strings.Builder
	arg := 1
	if explicit {
		arg = 2
	}
	reply := []string{"now"}
	first := 0
	for i := range plans {
		reply = append(reply, fmt.Sprint("raw", i+1))
		if plans[i].last {
			writeDecision(&body, plans[first:i+1], first, &arg)
			first = i + 1
		}
	}
	head := "local " + strings.Join(reply[1:], ",") + "\n"
	return newProgram(clock(explicit) + finish(head+body.String()+"return {"+strings.Join(reply, ",")+"}\n", explicit))
}

// clock is the reading of the one instant of a program.
func clock(explicit bool) string {
	if explicit {
		return "local now=tonumber(ARGV[1])\n"
	}
	return "local t=redis.call('TIME')\nlocal now=t[1]*1000000+t[2]\n"
}

// leastExplicit is the shortest time to live under explicit instants, in ms: a
// replay may stand still while the server's clock goes on.
const leastExplicit = 3_600_000

func finish(body string, explicit bool) string {
	least := "1"
	if explicit {
		least = strconv.Itoa(leastExplicit)
	}
	return strings.ReplaceAll(withFunctions(body), "$least", least)
}

// writeDecision writes one decision: all asks are judged, then charged.
func writeDecision(b *strings.Builder, plans []plan, first int, arg *int) {
	b.WriteString("do\n")
	var verdicts, broken []string
	for i := range plans {
		p, n := &plans[i], strconv.Itoa(first+i+1)
		f := fragments[p.Strategy]
		b.WriteString("local key" + n + ",ok" + n + ",bad" + n + "=KEYS[" + n + "],false,false\nlocal ")
		b.WriteString(strings.Join(f.state, n+",") + n + "\n")
		for _, a := range p.arguments() {
			fmt.Fprintf(b, "local %s%s=tonumber(ARGV[%d])\n", a, n, *arg)
			*arg++
		}
		b.WriteString(p.fill(f.judge(), n))
		fmt.Fprintf(b, "if bad%[1]s then raw%[1]s,ok%[1]s=1,false end\n", n)
		if p.Limit == 0 {
			fmt.Fprintf(b, "ok%s=false\n", n)
		}
		if !p.soft {
			verdicts, broken = append(verdicts, "ok"+n), append(broken, "bad"+n)
		}
	}
	if len(verdicts) > 1 {
		fmt.Fprintf(b, "local admitted=%s\nlocal broken=%s\n", strings.Join(verdicts, " and "), strings.Join(broken, " or "))
	} else if len(verdicts) == 1 {
		fmt.Fprintf(b, "local admitted,broken=%s,%s\n", verdicts[0], broken[0])
	}
	for i := range plans {
		if p, n := &plans[i], strconv.Itoa(first+i+1); p.charges() {
			b.WriteString("if " + p.charged(n) + " then\n" + p.fill(fragments[p.Strategy].charge, n) + "end\n")
		}
	}
	b.WriteString("end\n")
}

// charged is the condition of ask n's charge.
func (p *plan) charged(n string) string {
	admitted, broken := "admitted", "broken"
	if p.soft {
		admitted, broken = "ok"+n, "bad"+n
	}
	switch p.when {
	case core.OnAdmit:
		return admitted
	case core.OnRefuse:
		return "not (" + admitted + " or " + broken + ")"
	}
	return "not " + broken
}

// arguments are the numbers of an ask that its plan leaves open.
func (p *plan) arguments() (names []string) {
	if p.staggered() {
		names = append(names, "phase")
	}
	if !p.one {
		if names = append(names, "cost"); p.Strategy == "gcra" {
			names = append(names, "costq", "costr")
		}
	}
	return names
}

// appendArguments appends their values.
func (s *step) appendArguments(args []any, p *plan) []any {
	if p.staggered() {
		args = append(args, s.phase)
	}
	if !p.one {
		args = append(args, s.cost)
		if p.Strategy == "gcra" {
			q, r := s.span(min(s.cost, s.Burst))
			args = append(args, q, r)
		}
	}
	return args
}

// fill puts ask n's names and its plan's numbers into a fragment.
func (p *plan) fill(text, n string) string {
	literal := func(v int64) string { return strconv.FormatInt(v, 10) }
	return fill(text, func(name string) string { return name + n }, func(name string) string {
		fq, fr := p.span(p.Burst)
		switch name {
		case "boundary":
			return p.boundary(n)
		case "limit":
			return literal(p.Limit)
		case "window":
			return literal(p.Window)
		case "precision":
			return literal(p.Precision)
		case "counters":
			return strconv.Itoa(p.Counters)
		case "burst":
			return literal(p.Burst)
		case "fullq":
			return literal(fq)
		case "fullr":
			return literal(fr)
		case "banfirst":
			return literal(p.BanFirst)
		case "banlongest":
			return literal(p.BanLongest)
		case "banforgive":
			return literal(p.BanForgive)
		case "least":
			return "$least"
		}
		if !p.one {
			return name + n
		}
		q, r := p.span(min(1, p.Burst))
		return literal(map[string]int64{"cost": 1, "costq": q, "costr": r}[name])
	})
}

// boundary is where the window ends that now lies in.
func (p *plan) boundary(n string) string {
	length := strconv.FormatInt(p.length(), 10)
	switch p.Align {
	case core.FirstHit:
		return "now+" + length
	case core.Clock:
		return "now+" + length + "-now%" + length
	}
	return "now+" + length + "-(now-phase" + n + ")%" + length
}

// span is units*window/limit in microseconds and limit-ths of one; maxWord where
// that is less, as only debts and refunds reach.
func (p *plan) span(units int64) (q, r int64) { return span(&p.Program, units) }
func (s *step) span(units int64) (q, r int64) { return span(&s.Program, units) }

func span(p *core.Program, units int64) (q, r int64) {
	if p.Limit == 0 {
		return 0, 0
	}
	hi, lo := bits.Mul64(uint64(units), uint64(p.Window))
	if hi >= uint64(p.Limit) {
		return maxWord, 0
	}
	quotient, remainder := bits.Div64(hi, lo, uint64(p.Limit))
	if quotient >= maxWord {
		return maxWord, 0
	}
	return int64(quotient), int64(remainder)
}
