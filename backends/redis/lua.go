package redislimit

import (
	"embed"
	"regexp"
	"slices"
	"strings"
)

//go:embed lua/*.lua
var sources embed.FS

// A fragment is the translation of one strategy: its state between the steps,
// and the steps. In it, @name is a variable of the ask and $name a number of its
// rule or its request.
type fragment struct {
	state  []string
	load   string // reads the cell: Rule's state; @bad where it holds something foreign
	roll   string // moves the state on to now
	decide string // Rule.Decide, of the rolled state
	charge string // Rule.Charge
	owe    string // Rule.Settle of a debt, of the rolled state
	refund string // Rule.Settle of a refund, of the state as it was loaded
}

// judge loads, rolls and decides.
func (f *fragment) judge() string {
	return f.load + "if not @bad then\n" + f.roll + f.decide + "end\n"
}

// correct loads, and owes or refunds.
func (f *fragment) correct() string {
	return f.load + "if not @bad then\nif $delta>0 then\n" + f.roll + f.owe + "else\n" + f.refund + "end\nend\n"
}

// fragments has one fragment per strategy, under Strategy.Name, and that of bans.
var fragments = map[string]fragment{
	"fixed-window":    parseFragment("fixed-window"),
	"sliding-window":  parseFragment("sliding-window"),
	"bucketed-window": parseFragment("bucketed-window"),
	"moving-window":   parseFragment("moving-window"),
	"gcra":            parseFragment("gcra"),
	"ban":             parseFragment("ban"),
}

func parseFragment(name string) fragment {
	_, state, _ := strings.Cut(source(name), "-- STATE ")
	line, rest, _ := strings.Cut(state, "\n")
	f := fragment{state: strings.Fields(line)}
	steps := []struct {
		mark string
		text *string
	}{{"LOAD", &f.load}, {"ROLL", &f.roll}, {"DECIDE", &f.decide}, {"CHARGE", &f.charge}, {"OWE", &f.owe}, {"REFUND", &f.refund}}
	for i, step := range steps {
		_, rest, _ = strings.Cut(rest, "-- "+step.mark+"\n")
		text := rest
		if i+1 < len(steps) {
			text, _, _ = strings.Cut(rest, "-- "+steps[i+1].mark+"\n")
		}
		*step.text = code(text)
	}
	return f
}

func source(name string) string {
	b, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // embedded: can not be missing
	}
	return string(b)
}

// luaComment is a comment that takes the rest of its line.
var luaComment = regexp.MustCompile(`(?m)^\s*--.*\n|\s+-- .*$`)

// code is Lua without comments, indentation and empty lines: scripts travel.
func code(text string) string {
	var b strings.Builder
	for line := range strings.Lines(luaComment.ReplaceAllString(text, "")) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// A function is one of functions.lua, in the order of that file: each calls
// earlier ones only.
type function struct{ name, text string }

var functions = parseFunctions()

func parseFunctions() (fs []function) {
	for _, part := range strings.Split(source("functions"), "-- FUNCTION ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		fs = append(fs, function{name, code(text)})
	}
	return fs
}

// withFunctions puts the functions that body calls before it.
func withFunctions(body string) string {
	for _, f := range slices.Backward(functions) {
		if strings.Contains(body, f.name+"(") {
			body = f.text + body
		}
	}
	return body
}

// luaName is a placeholder in a fragment.
var luaName = regexp.MustCompile(`[@$][a-z]+`)

// fill puts names and numbers in the place of placeholders.
func fill(text string, variable, number func(name string) string) string {
	return luaName.ReplaceAllStringFunc(text, func(p string) string {
		if p[0] == '@' {
			return variable(p[1:])
		}
		return number(p[1:])
	})
}
