package policyfile

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAFileMeansWhatItSays(t *testing.T) {
	f := parse(t, `# all there is
proxies: [10.0.0.0/8, "2001:db8::1"]
proxy_header: X-Real-IP
ipv4_prefix: 24
ipv6_prefix: 56
prefix: "shop:"
headers: both
jitter: true
instances: 3
policies:
  - name: everything
    rate: 10/s; 1000/d@144m
    strategy: bucketed-window
    align: clock
    inclusive: true
    key: ip+post:username
    missing: share
    cost: 2
    mode: annotate
    count_denied: true
    methods: [POST, UNSAFE]
    except: [/healthz]
    on_failure: open
    on_change: reset
  - {name: plain, rate: none}
  - {name: smooth, rate: 5/m, strategy: gcra, burst: 3}
  - {name: first, rate: 5/m, strategy: fixed-window, align: first}
  - {name: exact, rate: 5/m, strategy: moving-window}
  - {name: fine, rate: 60/h, strategy: bucketed-window, precision: 1m}
  - {name: strict, rate: 5/m, ban: {after: 3, within: 10m, for: 1h, max: 24h, forgive: 48h}}
  - {name: brief, rate: 5/m, ban: {after: 3, within: 10m, for: 1h}}
`)
	if !slices.Equal(f.Proxies, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::1/128")}) ||
		f.ProxyHeader != "X-Real-IP" || f.IPv4Prefix != 24 || f.IPv6Prefix != 56 || f.Prefix != "shop:" || !f.Jitter || f.Instances != 3 ||
		f.Headers != core.HeadersDraft10|core.HeadersLegacy {
		t.Errorf("%+v", f)
	}
	p := f.Policies[0]
	if p.Key.String() != "ip+post:username" || !p.Fresh || p.Line != 11 {
		t.Errorf("%+v", p)
	}
	p.Key = nil
	want := core.Policy{Name: "everything", Rates: core.Rates{{Limit: 10, Window: time.Second}, {Limit: 1000, Window: 24 * time.Hour, Precision: 144 * time.Minute}},
		Strategy: core.BucketedWindow{Align: core.Clock, Inclusive: true}, Missing: core.MissingShare, Cost: 2, Mode: core.Annotate, OnFailure: core.FailOpen,
		CountDenied: true, Methods: []string{"POST", "UNSAFE"}, Except: []string{"/healthz"}}
	if !reflect.DeepEqual(p.Policy, want) {
		t.Errorf("%+v, want %+v", p.Policy, want)
	}
	for i, want := range []core.Strategy{core.SlidingWindow{}, core.GCRA{Burst: 3}, core.FixedWindow{Align: core.FirstHit}, core.MovingWindow{},
		core.BucketedWindow{Precision: time.Minute}} {
		if got := f.Policies[i+1].Strategy; got != want {
			t.Errorf("%s: strategy %#v, want %#v", f.Policies[i+1].Name, got, want)
		}
	}
	for i, want := range []core.Ban{{After: 3, Within: 10 * time.Minute, For: time.Hour, Max: 24 * time.Hour, Forgive: 48 * time.Hour},
		{After: 3, Within: 10 * time.Minute, For: time.Hour}} {
		if p := f.Policies[i+6]; p.Ban == nil || *p.Ban != want {
			t.Errorf("%s: ban %+v, want %+v", p.Name, p.Ban, want)
		}
	}
	if rates := f.Policies[1].Rates; rates == nil || len(rates) != 0 {
		t.Errorf("none is %#v, want no limit", rates)
	}
}

// Every problem of a file is told, with its line, in one go.
func TestProblems(t *testing.T) {
	for text, want := range map[string][]string{
		"":                    {"1: the file is empty"},
		"a: [":                {"1: not YAML"},
		"- a":                 {"1: the file is a list: begin it with policies:"},
		"policies: []":        {"1: no policies"},
		"policies: {a: b}":    {"1: policies: a mapping: write a list"},
		"policies: [5]":       {`1: a policy is the value "5"`},
		"policies: [{}]":      {"1: a policy without a name", "1: a policy without a rate"},
		"polices: []":         {`1: unknown field "polices" in the file: did you mean "policies"?`},
		"jitter: yes\nfoo: 1": {`1: "yes" is neither true nor false`, `2: unknown field "foo" in the file: known are`},
		"a: &x 1\nb: *x":      {"2: an alias"},
		"policies: [{name: a, rate: 1/m}]\n---\nfoo: 1":                           {"2: a second document"},
		"proxies: [x, \"::ffff:10.0.0.0/104\"]\npolicies: [{name: a, rate: 1/m}]": {`1: proxies: "x" is no address`, "1: proxies: \"::ffff:10.0.0.0/104\" is an IPv4 network"},
		"proxy_header: X-Real-IP\npolicies: [{name: a, rate: 1/m}]":               {"1: "},
		`policies:
  - name: login
    rate: 5/15x
    methods: [post]
    key: fot
  - name: login
    rate: 5/m
    name: other
  - {name: a, rate: 5/m, strategy: leaky}
  - name: b
    burst: 7
    rate: 5/m
    strategy: moving-window
    align: clock
  - {name: c, rate: 5/m, on_change: reset, key: "each(ip,user)"}
  - name: d
    rate: 5/m
    cost: 6
  - {name: e, rate: 20000/m, strategy: moving-window}
  - {name: f, rate: 7/m, strategy: bucketed-window, precision: 7s}
  - {name: "g h", rate: 1/m, missing: drop, mode: log, on_change: x, on_failure: crash, count_denied: 1, burst: -1, precision: 5}
`: {`3: rate "5/15x": unknown unit`, `4: method "post": write capitals`, `5: key "fot"`, `6: the name "login" is used twice`, `8: field "name" is here twice`,
			`9: unknown strategy "leaky": use fixed-window, bucketed-window, sliding-window, moving-window or gcra`,
			`11: burst belongs to gcra, not to moving-window`, `14: align: moving-window has no windows to align`, `15: on_change: reset does not go with`,
			`18: cost 6 is above`, `19: moving-window: `, `20: bucketed-window: precision 7s does not divide`,
			`21: missing: "drop"`, `21: mode: "log"`, `21: on_change: "x"`, `21: on_failure: "crash"`, `21: "1" is neither`, `21: "-1" is no number`, `21: "5" is no length`, `21: burst belongs`, `21: character ' '`},
		`policies:
  - name: a
    rate: 5/m
    cost: 3
    overrides:
      - {match: {ip: 192.0.2.1}, times: 0, until: tomorrow}
      - {match: {planet: mars}, times: 2, until: 2026-11-27T18:00:00Z}
      - {match: {}, times: 2, rate: 9/m, until: 2026-11-27T18:00:00Z}
      - {times: 2}
      - {match: {user: bob}, times: 2}
      - {match: {user: bob}, rate: 2/m, until: 2026-11-27T18:00:00Z}
      - {match: {user: ""}, rate: 9/m, from: 2026-11-27T18:00:00Z, until: 2026-11-27T18:00:00Z}
`: {`6: "0" is no number`, `6: "tomorrow" is no instant`, `7: unknown condition "planet"`, `8: match is a mapping`,
			`8: an override with both`, `9: an override that says not for whom`, `10: an override without an end`, `5: override 6: cost 3 is above`,
			`12: user: an empty value`, `12: an override that ends before it begins`},
		`policies:
  - name: a
    rate: 5/m
    ban: 1h
  - name: b
    rate: 5/m
    ban: {}
  - name: c
    rate: 5/m
    ban:
      after: 0
      within: 1d
      for: 1h
      max: -1h
      until: 3
  - name: d
    rate: 5/m
    ban:
      after: 3
      within: 10m
      for: 1h
      max: 1m
  - name: e
    rate: 5/m
    ban:
      after: 3
      within: 10m
      for: 1h
      forgive: 10000h
  - name: f
    rate: 5/m
    mode: annotate
    ban: {after: 3, within: 10m, for: 1h}
`: {`4: a ban is the value "1h": write fields: after, for, forgive, max, within`,
			`7: a ban without "after": add how many`, `7: a ban without "within": add the time`, `7: a ban without "for": add how long`,
			`11: "0" is no number`, `12: "1d" is no length`, `14: "-1h" is no length`, `15: unknown field "until" in a ban`,
			`22: ban: Max 1m0s is shorter than For 1h0m0s`, `29: ban: Forgive 10000h0m0s is out of range`, `33: Ban: a policy that does not enforce`},
	} {
		_, err := Parse("f.yaml", []byte(text))
		var problems Problems
		if !errors.As(err, &problems) {
			t.Errorf("%q: %v, want problems", text, err)
			continue
		}
		missing := slices.Clone(want)
		for _, p := range problems {
			found := slices.IndexFunc(missing, func(w string) bool { return strings.HasPrefix(p.String(), "f.yaml:"+w) })
			if found < 0 {
				t.Errorf("%.60q: unexpected problem: %s", text, p)
				continue
			}
			missing = slices.Delete(missing, found, found+1)
		}
		if len(missing) > 0 {
			t.Errorf("%.60q: no such problem: %q\nbut %v", text, missing, err)
		}
		if !slices.IsSortedFunc(problems, func(a, b Problem) int { return a.Line - b.Line }) {
			t.Errorf("%.60q: the problems are not in order: %v", text, err)
		}
	}
}

// request answers the few questions that overrides ask.
type request struct {
	core.Native
	ip string
}

func (r request) Method() string       { return "GET" }
func (r request) Route() string        { return "/" }
func (r request) Peer() netip.Addr     { return netip.MustParseAddr(r.ip) }
func (r request) Header(string) string { return "" }

func TestOverridesEndByThemselves(t *testing.T) {
	f := parse(t, `
policies:
  - name: api
    rate: 2/h
    strategy: moving-window
    overrides:
      - {match: {ip: 192.0.2.0/24}, times: 2, from: 2026-11-27T17:00:00Z, until: 2026-11-27T18:00:00Z}
      - {match: {ip: 198.51.100.9}, rate: none, until: 2026-11-27T18:00:00Z}
`)
	begin := time.Date(2026, 11, 27, 17, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ip      string
		after   time.Duration
		allowed int
	}{
		{"192.0.2.77", 0, 4},
		{"192.0.2.77", -time.Microsecond, 2},
		{"192.0.2.77", time.Hour - time.Microsecond, 4},
		{"192.0.2.77", time.Hour, 2},
		{"198.51.100.8", 0, 2},
		{"198.51.100.9", -time.Hour, 10},
		{"198.51.100.9", time.Hour, 2},
	} {
		l, err := core.New(f.Config(core.Config{Backend: memory.New(), Now: func() time.Time { return begin.Add(c.after) },
			Client: func(n core.Native) netip.Addr { return n.Peer() }}, nil))
		if err != nil {
			t.Fatal(err)
		}
		allowed := 0
		for range 10 {
			if d := decide(t, l, request{ip: c.ip}); d.Allowed {
				allowed++
			}
		}
		if allowed != c.allowed {
			t.Errorf("%s at %v: %d allowed, want %d", c.ip, c.after, allowed, c.allowed)
		}
	}
}

func decide(t *testing.T, l *core.Limiter, r request) core.Decision {
	t.Helper()
	var v core.Visit
	l.Enter(native{r}, 0, &v)
	v.Leave()
	return v.Decision
}

func FuzzParse(f *testing.F) {
	f.Add("policies: [{name: a, rate: 1/m, overrides: [{match: {ip: 1.2.3.4}, times: 2, until: 2026-11-27T18:00:00Z}]}]")
	f.Add("policies: [{name: a, rate: none, ban: {after: 1, within: 1ms, for: 1s, max: 2s, forgive: 1us}}]")
	f.Add("a: &a [*a]")
	f.Add("policies:\n- <<: {name: x}\n  rate: !!binary 5/m\n  ? {a: b} : c")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("", []byte(text))
		if err != nil {
			return
		}
		// What Parse takes, New takes.
		if _, err := core.New(file.Config(core.Config{Backend: memory.New(), User: nobody}, nil)); err != nil {
			t.Errorf("%q was taken, and refused by New: %v", text, err)
		}
		for _, p := range file.Policies {
			_ = fmt.Sprint(p)
		}
	})
}

// The file on the page is one.
func TestTheFileOnThePage(t *testing.T) {
	text, err := os.ReadFile("example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if f := parse(t, string(text)); len(f.Policies) != 2 || len(f.Policies[0].Overrides) != 1 || f.Policies[0].Overrides[0].Rates[1].Limit != 10_000 {
		t.Errorf("%+v", f)
	}
}
