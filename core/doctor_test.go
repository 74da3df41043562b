package core_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

// doctored are the codes of what the Doctor finds.
func doctored(t *testing.T, l *core.Limiter) (codes []string) {
	t.Helper()
	found, err := l.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		codes = append(codes, f.Code)
		if f.Reason == "" || f.Remedy == "" || !strings.HasPrefix(f.String(), f.Code+": ") {
			t.Errorf("an incomplete finding: %+v", f)
		}
	}
	return codes
}

// healthy is a configuration in which there is nothing to find.
func healthy(b core.Backend) core.Config {
	return core.Config{
		Backend: b,
		Secret:  []byte("sixteen bytes...and some"),
		Proxies: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("104.16.0.0/13"), netip.MustParsePrefix("2606:4700::/32")},
		User:    func(r core.Request) string { return r.Header("User") },
		Policies: []core.Policy{
			{Name: "api", Rate: "100/m; 5000/d", Key: core.ByUserOrIP},
			{Name: "address", Rate: "1000/m"},
			{Name: "login", Rate: "5/15m", Strategy: core.MovingWindow{}, Methods: core.Unsafe, OnFailure: core.FailClosed,
				Key: core.Join(core.ByIP, core.ByForm("username")), CountDenied: true, Missing: core.MissingSkip,
				CountIf: core.OnStatus(401), Ban: &core.Ban{Failures: true, After: 10, Within: time.Hour, For: time.Hour}},
			{Name: "partner", Rate: "10/s", Key: core.ByHeader("X-Api-Key"), OnFailure: core.FailOpen},
			{Name: "everybody", Rate: "50/s", Key: core.Const("everybody")},
			{Name: "reports", Rate: "5/m", Key: core.ByUser, Except: []string{"/healthz"}},
		},
	}
}

// A remote backend is none inside the process.
func remote() core.Backend { return newFaulty() }

// Each of these settings is one mistake, and yields its code and no other.
var mistakes = map[string]func(*core.Config){
	"disabled":         func(c *core.Config) { c.Disabled = true },
	"clock-replaced":   func(c *core.Config) { c.Now = newClock().now },
	"phase-replaced":   func(c *core.Config) { c.Phase = func(core.Cell) int64 { return 0 } },
	"proxies-too-wide": func(c *core.Config) { c.Proxies = prefixes("0.0.0.0/0") },
	"ipv6-too-narrow":  func(c *core.Config) { c.IPv6Prefix = 128 },
	"no-secret":        func(c *core.Config) { c.Backend, c.Secret = remote(), nil },
	"digest-constant": func(c *core.Config) {
		c.Secret, c.Digest = nil, func([]byte) (d [16]byte) { return d }
	},
	"instances-in-process": func(c *core.Config) { c.Instances = 4 },
	"no-fallback":          func(c *core.Config) { c.Backend = struct{ core.Backend }{remote()} },
	"fallback-is-backend": func(c *core.Config) {
		c.Backend = remote()
		c.Fallback = c.Backend
	},
	"everybody-exempt": func(c *core.Config) { c.AllowList = listOf("0.0.0.0/0") },

	"key-chosen-by-client": alone(core.Policy{Key: core.ByHeader("X-Api-Key")}),
	"ban-chosen-by-client": func(c *core.Config) {
		c.Policies[0] = core.Policy{Name: "login", Rate: "5/m", Key: core.Each(core.ByIP, core.ByForm("username")), Ban: aBan}
		c.Policies = c.Policies[:2]
	},
	"ban-for-everybody":     alone(core.Policy{Key: core.Const("all"), Ban: aBan}),
	"limit-avoidable":       alone(core.Policy{Key: core.Join(core.ByIP, core.ByQuery("q")), Missing: core.MissingSkip}),
	"everybody-shares":      alone(core.Policy{Key: core.ByRoute}),
	"body-key-without-body": alone(core.Policy{Key: core.Join(core.ByIP, core.ByForm("username")), Methods: []string{"GET", "HEAD"}}),
	"guard-fails-open": func(c *core.Config) {
		c.Backend, c.Policies[2].OnFailure = remote(), core.FailOpen
	},
	"count-denied-long": alone(core.Policy{Rate: "100/d", CountDenied: true}),
	"log-too-large":     alone(core.Policy{Rate: "5000/h", Strategy: core.MovingWindow{}}),

	"backend-refuses": func(c *core.Config) {
		f := newFaulty()
		f.errs["api"] = core.NewUnavailable(core.ClassConfig, "wrong password")
		c.Backend = f
	},
}

var aBan = &core.Ban{After: 3, Within: time.Minute, For: time.Hour}

func listOf(texts ...string) *core.List {
	l := new(core.List)
	if err := l.Add(core.Entries{Prefixes: prefixes(texts...)}); err != nil {
		panic(err)
	}
	return l
}

// alone is a configuration of that policy only.
func alone(p core.Policy) func(*core.Config) {
	return func(c *core.Config) {
		p.Name = "only"
		if p.Rate == "" {
			p.Rate = "5/m"
		}
		c.Policies = []core.Policy{p}
	}
}

func TestDoctorNamesEachMistakeAndNoOther(t *testing.T) {
	for code, mistake := range mistakes {
		t.Run(code, func(t *testing.T) {
			c := healthy(memory.New())
			mistake(&c)
			if got := doctored(t, configured(t, c)); !slices.Equal(got, []string{code}) {
				t.Errorf("found %q", got)
			}
		})
	}
}

func TestDoctorFindsNothingInAHealthyLimiter(t *testing.T) {
	for name, b := range map[string]core.Backend{"memory": memory.New(), "remote": remote()} {
		if got := doctored(t, configured(t, healthy(b))); got != nil {
			t.Errorf("%s: found %q", name, got)
		}
	}
	if got := doctored(t, memory.Limiter("5/15m")); got != nil {
		t.Errorf("one line: found %q", got)
	}
}

// What looks like a mistake at first, and is none.
func TestDoctorKnowsWhatIsMeantSo(t *testing.T) {
	for name, change := range map[string]func(*core.Config){
		"prefixes of content networks": func(c *core.Config) {
			c.Proxies = prefixes("23.32.0.0/11", "10.0.0.0/8", "100.64.0.0/10", "fc00::/7", "2a06:98c0::/29", "::ffff:10.0.0.0/104")
		},
		"no secret, but a digest": func(c *core.Config) {
			c.Backend, c.Secret, c.Digest = remote(), nil, func(k []byte) (d [16]byte) { copy(d[:], k); return d }
		},
		"no secret, but nothing personal": func(c *core.Config) {
			c.Backend, c.Secret = remote(), nil
			c.Policies = []core.Policy{{Name: "all", Rate: "1000/s", Key: core.Const("all")}}
		},
		"a large limit for everybody":        alone(core.Policy{Rate: "1000/s", Key: core.ByRoute}),
		"so many at once":                    alone(core.Policy{Rate: "20/m", Key: core.ByRoute, Strategy: core.InFlight{}}),
		"a key of hooks":                     alone(core.Policy{Key: core.Const("x"), Hooks: loginGuard{}}),
		"each, the address too":              alone(core.Policy{Key: core.Each(core.ByIP, core.ByJSON("email"))}),
		"what annotates":                     alone(core.Policy{Key: core.ByHeader("X"), Mode: core.Annotate, OnFailure: core.FailOpen}),
		"closed because there is no other":   func(c *core.Config) { c.Backend = struct{ core.Backend }{remote()}; closeAll(c) },
		"a list of some":                     func(c *core.Config) { c.AllowList = listOf("1.0.0.0/8") },
		"refused requests of a short window": alone(core.Policy{Rate: "100/h", CountDenied: true}),
	} {
		t.Run(name, func(t *testing.T) {
			c := healthy(memory.New())
			change(&c)
			if got := doctored(t, configured(t, c)); got != nil {
				t.Errorf("found %q", got)
			}
		})
	}
}

func closeAll(c *core.Config) {
	for i := range c.Policies {
		c.Policies[i].OnFailure = core.FailClosed
	}
}

// A prefix is not private because it holds one that is.
func TestDoctorLooksAtAllOfAPrefix(t *testing.T) {
	for _, wide := range []string{"10.0.0.0/7", "fc00::/6", "::/0", "128.0.0.0/1", "2000::/3", "::ffff:0.0.0.0/96"} {
		c := healthy(memory.New())
		c.Proxies = prefixes("10.0.0.0/8", wide)
		if got := doctored(t, configured(t, c)); !slices.Equal(got, []string{"proxies-too-wide"}) {
			t.Errorf("%s: found %q", wide, got)
		}
	}
}

// What covers a key that clients choose has to apply wherever that key counts.
func TestDoctorLooksWhatCoversAKey(t *testing.T) {
	chosen := core.Policy{Name: "key", Rate: "5/m", Key: core.ByHeader("X-Api-Key"), Methods: []string{"POST", "DELETE"}, Except: []string{"/in", "/out"}}
	for _, c := range []struct {
		cover core.Policy
		want  bool
	}{
		{core.Policy{}, true},
		{core.Policy{Methods: core.Unsafe}, true},
		{core.Policy{Methods: []string{"DELETE", "GET", "POST"}, Except: []string{"/out"}}, true},
		{core.Policy{Methods: []string{"POST"}}, false},
		{core.Policy{Except: []string{"/other"}}, false},
		{core.Policy{Mode: core.Annotate}, false},
		{core.Policy{Rate: "none"}, false},
		{core.Policy{Key: core.ByUser}, true},
		{core.Policy{Key: core.ByUser, Missing: core.MissingSkip}, false},
		{core.Policy{Key: core.ByHeader("Cookie")}, false},
	} {
		c.cover.Name = "cover"
		if c.cover.Rate == "" {
			c.cover.Rate = "100/m"
		}
		config := healthy(memory.New())
		config.Policies = []core.Policy{chosen, c.cover}
		found, err := configured(t, config).Doctor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := !slices.ContainsFunc(found, func(f core.Finding) bool { return f.Policy == "key" })
		if got != c.want {
			t.Errorf("%+v covers: %v, want %v", c.cover, got, c.want)
		}
	}
}

// An error of the backend's is one of the Doctor's, and hides nothing.
func TestDoctorSaysWhatItCouldNotLookAt(t *testing.T) {
	f := newFaulty()
	f.errs["api"] = core.NewUnavailable(core.ClassTimeout, "no answer")
	c := healthy(f)
	c.Disabled = true
	found, err := configured(t, c).Doctor(t.Context())
	if !errors.Is(err, core.ErrUnavailable) || len(found) != 1 {
		t.Errorf("found %v, error %v", found, err)
	}
	if len(f.took) > 0 {
		t.Errorf("the Doctor charged %q", f.took)
	}
}

// An examined backend knows what a Limiter asks of it.
type examined struct {
	core.Backend
	uses []core.Use
	err  error
}

func (e *examined) Examine(_ context.Context, uses []core.Use) ([]core.Finding, error) {
	e.uses = uses
	return []core.Finding{{Code: "mine", Reason: "so", Remedy: "mend"}}, e.err
}

func TestDoctorAsksTheBackends(t *testing.T) {
	store, fallback := &examined{Backend: memory.New(), err: errors.New("half of it")}, &examined{Backend: memory.New()}
	c := healthy(store)
	c.Fallback = fallback
	found, err := configured(t, c).Doctor(t.Context())
	if len(found) != 2 || found[0].Code != "mine" || !errors.Is(err, store.err) {
		t.Errorf("found %v, error %v", found, err)
	}
	if n := len(store.uses); n != 8 || store.uses[0].Policy != "api" || store.uses[0].Rule == nil { // two rates, and a ban
		t.Errorf("%d uses: %+v", n, store.uses)
	}
}

// Every code has a test that it is found, and a row on its page, and no others have.
func TestEveryCodeIsTestedAndDocumented(t *testing.T) {
	var inCore []string
	for _, code := range codesOf(t, "doctor_codes.go") {
		_, mistake := mistakes[code]
		_, scene := scenes[code]
		if mistake == scene {
			t.Errorf("%s: one test of a mistake or of a scene is wanted", code)
		}
		inCore = append(inCore, code)
	}
	if n := len(mistakes) + len(scenes); n != len(inCore) {
		t.Errorf("%d tests of %d codes", n, len(inCore))
	}
	all := inCore
	for _, file := range []string{"memory/examine.go", "redis/examine.go"} {
		all = append(all, codesOf(t, filepath.Join("../backends", file))...)
	}
	page, err := os.ReadFile("../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(page)) {
		if code, ok := strings.CutPrefix(line, "| `"); ok {
			code, _, _ = strings.Cut(code, "`")
			rows = append(rows, code)
		}
	}
	slices.Sort(rows)
	slices.Sort(all)
	if !slices.Equal(rows, all) {
		t.Errorf("the page has %q\nthe code has %q", rows, all)
	}
}

// codesOf are the constants of a file whose names begin with code.
func codesOf(t *testing.T, file string) (codes []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "code") {
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
		return true
	})
	if len(codes) == 0 {
		t.Fatal(fmt.Errorf("no codes in %s", file))
	}
	return codes
}
