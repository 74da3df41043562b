package core_test

import (
	"strings"
	"testing"

	"github.com/stint-go/stint/backends/memory"
	"github.com/stint-go/stint/core"
)

func TestEveryProblemOfAConfigurationIsInOneError(t *testing.T) {
	var nilHooks *struct{ core.Base }
	_, err := core.New(core.Config{
		Policies: []core.Policy{
			{Name: "", Rate: "1/m"},
			{Name: "a b", Rate: "1/m"},
			{Name: "twice", Rate: "1/m"},
			{Name: "twice", Rate: "1/m"},
			{Name: "rate", Rate: "ten per minute"},
			{Name: "windows", Rate: "10/m; 20/60s"},
			{Name: "key", Rate: "1/m", By: "cookie:x"},
			{Name: "both", Rate: "1/m", By: "ip", Key: core.ByIP},
			{Name: "cost", Rate: "10/m", Cost: 11},
			{Name: "burst", Rate: "10/m", Cost: 6, Strategy: core.GCRA{Burst: 5}},
			{Name: "negative", Rate: "10/m", Cost: -1},
			{Name: "precision", Rate: "10/m", Strategy: core.BucketedWindow{Precision: 7e9}},
			{Name: "user", Rate: "10/m", Key: core.ByUser},
			{Name: "nothing"},
			{Name: "hooks", Rate: "10/m", Hooks: nilHooks},
			{Name: "method", Rate: "10/m", Methods: []string{"post"}},
			{Name: "empty-methods", Rate: "10/m", Methods: []string{}},
			{Name: "except", Rate: "10/m", Except: []string{"/a", ""}},
			{Name: "twin", Rate: "1/m; 1/h"},
			{Name: "twin-1m", Rate: "1/m"},
			{Name: "value", Rate: "10/m", Hooks: byPointer{}},
			{Name: "limit", Rates: core.Rates{{Limit: core.MaxLimit + 1, Window: 1e9}}},
			{Name: "window", Rates: core.Rates{{Limit: 1, Window: 367 * 24 * 3600e9}}},
		},
		IPv4Prefix: 33,
		IPv6Prefix: -1,
		Headers:    core.HeadersNone | core.HeadersLegacy,
		BodyLimit:  -1,
	})
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	for _, want := range []string{
		"no backend", `policy "": no name`, `policy "a b"`, `policy "twice": the name is used twice`,
		`policy "rate"`, `policy "windows"`, `policy "key"`, `policy "both"`, `policy "cost": cost 11`, `policy "burst": cost 6`,
		`policy "negative"`, `policy "precision"`, `policy "user"`, `policy "nothing"`, `policy "hooks"`, `policy "method"`, `policy "empty-methods"`, `policy "except"`, `policy "twin-1m": its rate is called "twin-1m"`, `policy "value": hooks: only *core_test.byPointer is a Coster`,
		`policy "limit"`, `policy "window"`, "33", "-1", "HeadersNone", "body limit",
	} {
		n := 0
		for _, line := range lines {
			if strings.Contains(line, want) {
				n++
			}
			if !strings.HasPrefix(line, "stint: ") {
				t.Errorf("a line without its prefix: %q", line)
			}
		}
		if n == 0 {
			t.Errorf("nothing about %s in:\n%v", want, err)
		}
	}
}

func TestGoodConfigurations(t *testing.T) {
	for name, p := range map[string]core.Policy{
		"none":          {Rate: "none"},
		"zero":          {Rate: "0/s"},
		"cost of zero":  {Rate: "0/s", Cost: 3},
		"burst above":   {Rate: "10/m", Cost: 15, Strategy: core.GCRA{Burst: 20}},
		"sub-window":    {Rate: "240/h@1m", Strategy: core.BucketedWindow{}},
		"head":          {Rate: "1/s", Methods: []string{"HEAD"}},
		"several rates": {Rate: "1/s, 10/m | 100/h; 1000/d"},
	} {
		p.Name = "p"
		if _, err := core.New(core.Config{Backend: memory.New(), Policies: []core.Policy{p}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// byPointer is a Coster only where a pointer is passed.
type byPointer struct{ core.Base }

func (*byPointer) Cost(core.Request) int64 { return 2 }

func TestWrongHeaders(t *testing.T) {
	c := core.Config{Backend: memory.New(), Policies: []core.Policy{{Name: "a", Rate: "1/m", Hooks: &byPointer{}}}}
	if _, err := core.New(c); err != nil {
		t.Error(err)
	}
	c.Headers = 64
	if _, err := core.New(c); err == nil || !strings.Contains(err.Error(), "headers 64") {
		t.Errorf("error %v", err)
	}
}
