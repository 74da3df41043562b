package policyfile

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
	"go.yaml.in/yaml/v3"
)

// policy reads one element of policies.
func (r *reader) policy(n *yaml.Node, f *File) {
	p := Policy{Line: n.Line}
	var c Counting
	overrides := func() {}
	var banLines map[string]int
	lines := r.mapping(n, "a policy", fields{
		"name":         func(n *yaml.Node) { p.Name = r.text(n) },
		"rate":         func(n *yaml.Node) { p.Rates = r.rates(n) },
		"strategy":     func(n *yaml.Node) { c.Strategy = r.text(n) },
		"align":        func(n *yaml.Node) { c.Align = r.text(n) },
		"precision":    func(n *yaml.Node) { c.Precision = r.length(n) },
		"inclusive":    func(n *yaml.Node) { c.Inclusive = r.truth(n) },
		"burst":        func(n *yaml.Node) { c.Burst = r.number(n, 1, core.MaxLimit) },
		"key":          func(n *yaml.Node) { p.Key = r.key(n) },
		"missing":      func(n *yaml.Node) { r.missing(n, &p.Missing) },
		"cost":         func(n *yaml.Node) { p.Cost = r.number(n, 1, core.MaxLimit) },
		"mode":         func(n *yaml.Node) { p.Mode = r.mode(n) },
		"on_failure":   func(n *yaml.Node) { p.OnFailure = r.onFailure(n) },
		"count_denied": func(n *yaml.Node) { p.CountDenied = r.truth(n) },
		"ban":          func(n *yaml.Node) { p.Ban, banLines = r.ban(n) },
		"methods":      func(n *yaml.Node) { p.Methods = r.methods(n) },
		"except":       func(n *yaml.Node) { p.Except = r.texts(n, "except") },
		"on_change":    func(n *yaml.Node) { p.Fresh = r.fresh(n) },
		"overrides": func(n *yaml.Node) { // after the rate, wherever they stand
			overrides = func() { r.each(n, "overrides", func(n *yaml.Node) { r.override(n, &p) }) }
		},
	})
	overrides()
	for field, line := range banLines {
		lines["ban "+field] = line
	}
	r.strategy(n, lines, c, &p)
	if lines["name"] == 0 && n.Kind == yaml.MappingNode {
		r.problem(n.Line, "a policy without a name", "add one, such as name: login")
	}
	if lines["rate"] == 0 && n.Kind == yaml.MappingNode {
		r.problem(n.Line, "a policy without a rate", "add one, such as rate: 100/m")
	}
	if p.Fresh && p.Key != nil && strings.HasPrefix(p.Key.String(), "each(") {
		r.problem(lines["on_change"], "on_change: reset does not go with a key of each(...)", "rename the policy where its counters shall begin anew")
	}
	if i := slices.IndexFunc(f.Policies, func(q Policy) bool { return q.Name == p.Name }); i >= 0 && p.Name != "" {
		r.problem(lines["name"], fmt.Sprintf("the name %q is used twice", p.Name), "policies of one name would share their counters: rename this one or that of line %d", f.Policies[i].Line)
	}
	r.judge(lines, p)
	p.definition = digest(n)
	if p.Fresh {
		p.generation = digest(withoutOverrides(n))
	}
	f.Policies = append(f.Policies, p)
}

// strategy builds what the fields about counting say together.
func (r *reader) strategy(n *yaml.Node, lines map[string]int, c Counting, p *Policy) {
	s, err := c.Build()
	p.Strategy = s
	for _, e := range split(err) {
		at := n.Line
		for _, field := range []string{"align", "precision", "inclusive", "burst", "strategy"} {
			word, _, _ := strings.Cut(e, " ")
			if lines[field] != 0 && (strings.TrimSuffix(word, ":") == field || at == n.Line) {
				at = lines[field]
				if strings.TrimSuffix(word, ":") == field {
					break
				}
			}
		}
		r.problem(at, e, "")
	}
}

// judge has core look at a policy by itself, so that its complaints come with the
// policy's lines. What has been complained about before is replaced by something
// that is right.
func (r *reader) judge(lines map[string]int, p Policy) {
	if p.Name == "" {
		p.Name = "unnamed"
	}
	if p.Rates == nil {
		p.Rates, p.Strategy = core.Rates{{Limit: core.MaxLimit, Window: time.Minute}}, nil
	}
	for _, text := range complaints(p.Policy) {
		at := p.Line
		for _, field := range concerning(text) {
			if lines[field] != 0 {
				at = lines[field]
				break
			}
		}
		r.problem(at, text, "")
	}
	for i, o := range p.Overrides {
		q := p.Policy
		if q.Rates = o.Rates; q.Rates == nil {
			continue
		}
		for _, text := range complaints(q) {
			if !slices.Contains(complaints(p.Policy), text) {
				r.problem(lines["overrides"], fmt.Sprintf("override %d: %s", i+1, text), "")
			}
		}
	}
}

// concerning are the fields that a complaint of core is about, the likeliest first.
func concerning(text string) []string {
	first, _, _ := strings.Cut(text, " ")
	switch first = strings.TrimSuffix(first, ":"); first {
	case "cost", "key", "mode", "rate":
		return []string{first}
	case "Ban": // the policy can not have one
		return []string{"ban"}
	case "ban": // "ban: Max 1m0s is shorter than ..."
		setting, _, _ := strings.Cut(strings.TrimPrefix(text, "ban: "), " ")
		return []string{"ban " + strings.ToLower(setting), "ban"}
	case "character", "no", "a": // "a name of 65 characters"
		return []string{"name"}
	case "an": // "an empty template in Except"
		return []string{"except"}
	}
	for word, field := range map[string]string{"precision ": "precision", "burst ": "burst", "alignment ": "align"} {
		if strings.HasPrefix(text, word) || strings.Contains(text, ": "+word) {
			return []string{field, "rate"}
		}
	}
	return []string{"rate"}
}

// complaints are what core says against a policy by itself.
func complaints(p core.Policy) []string {
	_, err := core.New(core.Config{Backend: memory.New(), User: nobody, Policies: []core.Policy{p}})
	texts := split(err)
	for i, text := range texts {
		texts[i] = strings.TrimPrefix(strings.TrimPrefix(text, "stint: "), fmt.Sprintf("policy %q: ", p.Name))
	}
	return texts
}

func split(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func (r *reader) rates(n *yaml.Node) core.Rates {
	rates, err := core.ParseRates(r.text(n))
	if err != nil {
		r.problem(n.Line, strings.TrimPrefix(err.Error(), "stint: "), "")
		return nil
	}
	return rates
}

func (r *reader) key(n *yaml.Node) core.KeySource {
	key, err := core.ParseKey(r.text(n))
	if err != nil {
		r.problem(n.Line, err.Error(), "")
		return nil
	}
	return key
}

// methods answers nil, which is all, where there is something to complain about.
func (r *reader) methods(n *yaml.Node) []string {
	list, known := r.texts(n, "methods"), len(r.problems)
	for _, m := range list {
		if m == "" || strings.Trim(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			r.problem(n.Line, fmt.Sprintf("method %q", m), "write capitals, as in [POST, PUT], or [UNSAFE] for all that change something")
		}
	}
	if len(list) == 0 && n.Kind == yaml.SequenceNode {
		r.problem(n.Line, "an empty list of methods: the policy would never apply", "leave methods out for all of them")
	}
	if len(r.problems) > known || len(list) == 0 {
		return nil
	}
	return list
}

func (r *reader) missing(n *yaml.Node, m *core.Missing) {
	if err := m.UnmarshalText([]byte(r.text(n))); err != nil {
		r.problem(n.Line, err.Error(), "")
	}
}

func (r *reader) mode(n *yaml.Node) core.Mode {
	switch r.text(n) {
	case "enforce":
	case "annotate":
		return core.Annotate
	default:
		r.problem(n.Line, fmt.Sprintf("mode: %q", n.Value), "use enforce or annotate")
	}
	return core.Enforce
}

func (r *reader) onFailure(n *yaml.Node) core.FailureMode {
	switch r.text(n) {
	case "fallback":
	case "closed":
		return core.FailClosed
	case "open":
		return core.FailOpen
	default:
		r.problem(n.Line, fmt.Sprintf("on_failure: %q", n.Value), "use fallback, closed or open")
	}
	return core.Fallback
}

func (r *reader) fresh(n *yaml.Node) bool {
	switch r.text(n) {
	case "keep":
	case "reset":
		return true
	default:
		r.problem(n.Line, fmt.Sprintf("on_change: %q", n.Value), "use keep or reset")
	}
	return false
}

// override reads one element of overrides. The policy's rate is known.
func (r *reader) override(n *yaml.Node, p *Policy) {
	o := Override{Match: map[string]string{}}
	var factor int64
	lines := r.mapping(n, "an override", fields{
		"match": func(n *yaml.Node) { r.match(n, &o) },
		"rate":  func(n *yaml.Node) { o.Rates = r.rates(n) },
		"times": func(n *yaml.Node) { factor = r.number(n, 1, 1_000_000) },
		"from":  func(n *yaml.Node) { o.From = r.instant(n) },
		"until": func(n *yaml.Node) { o.Until = r.instant(n) },
	})
	switch {
	case len(lines) == 0:
		return
	case lines["match"] == 0:
		r.problem(n.Line, "an override that says not for whom", "add match, such as match: {ip: 203.0.113.0/24}")
	case lines["until"] == 0:
		r.problem(n.Line, "an override without an end", "add until, as in until: 2026-11-27T18:00:00Z; what shall last is a policy")
	case !o.From.IsZero() && !o.From.Before(o.Until):
		r.problem(lines["from"], "an override that ends before it begins", "correct from or until")
	}
	switch {
	case (lines["rate"] == 0) == (lines["times"] == 0):
		r.problem(n.Line, "an override with both rate and times, or neither", "keep one: rate: 1000/m, or times: 10")
	case factor > 0:
		o.Rates = times(p.Rates, factor)
	}
	p.Overrides = append(p.Overrides, o)
}

func (r *reader) match(n *yaml.Node, o *Override) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		r.problem(n.Line, "match is "+kind(n), "write conditions, as in match: {user: bob}")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		word, want := n.Content[i].Value, r.text(n.Content[i+1])
		if o.Match[word] != "" {
			r.problem(n.Content[i].Line, fmt.Sprintf("condition %q is here twice", word), "keep one")
		}
		c, err := newCondition(word, want)
		if err != nil {
			r.problem(n.Content[i].Line, err.Error(), "")
			continue
		}
		o.Match[word] = want
		o.conditions = append(o.conditions, c)
	}
}

// withoutOverrides is a policy without those: they come and go, and leave its
// counters alone.
func withoutOverrides(n *yaml.Node) *yaml.Node {
	rest := &yaml.Node{Kind: n.Kind, Tag: n.Tag}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != "overrides" {
			rest.Content = append(rest.Content, n.Content[i], n.Content[i+1])
		}
	}
	return rest
}

// digest tells definitions apart. It knows no comments and no style: a note in the
// file changes nothing.
func digest(n *yaml.Node) string {
	h := sha256.New()
	write(h, n)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:9])
}

func write(h hash.Hash, n *yaml.Node) {
	fmt.Fprintf(h, "%d %q %q %d\n", n.Kind, n.Tag, n.Value, len(n.Content))
	for _, child := range n.Content {
		write(h, child)
	}
}
