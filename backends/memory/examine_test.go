package memory

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

// examine is what the Doctor finds in a Limiter over the backend.
func examine(t *testing.T, b *Backend, policies ...core.Policy) (codes []string) {
	t.Helper()
	l, err := core.New(core.Config{Backend: b, Policies: policies})
	if err != nil {
		t.Fatal(err)
	}
	found, err := l.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		codes = append(codes, f.Code)
	}
	return codes
}

func TestDoctorNamesCapsThatAreTooSmall(t *testing.T) {
	page := core.Policy{Name: "page", Rate: "10/m; 100/h; 1000/d"}
	log := core.Policy{Name: "log", Rate: "1000/m", Strategy: core.MovingWindow{}}
	for _, c := range []struct {
		o      Options
		policy core.Policy
		want   []string
	}{
		{Options{}, page, nil},
		{Options{}, log, nil},
		{Options{MaxCells: 3000}, page, nil},
		{Options{MaxCells: 2999}, page, []string{"memory-too-small"}},
		{Options{MaxBytes: 17 << 20}, log, nil},
		{Options{MaxBytes: 8 << 20}, log, []string{"memory-too-small"}},
	} {
		b, err := NewWith(c.o)
		if err != nil {
			t.Fatal(err)
		}
		if got := examine(t, b, c.policy); !slices.Equal(got, c.want) {
			t.Errorf("%+v, %s: found %q, want %q", c.o, c.policy.Rate, got, c.want)
		}
	}
}

// Both a cell that was forgotten and clients that share a counter are named.
func TestDoctorNamesAFullMemory(t *testing.T) {
	for name, strategy := range map[string]core.Strategy{"evicted": core.GCRA{}, "shared": core.FixedWindow{}} {
		b, err := NewWith(Options{MaxCells: 1000})
		if err != nil {
			t.Fatal(err)
		}
		limit := map[string]int64{"evicted": 1000, "shared": 1}[name] // at its limit, a cell stays
		p := core.Policy{Name: "p", Rates: core.Rates{{Limit: limit, Window: 24 * time.Hour}}, Strategy: strategy}
		l, err := core.New(core.Config{Backend: b, Policies: []core.Policy{p}})
		if err != nil {
			t.Fatal(err)
		}
		if got := examine(t, b, p); got != nil {
			t.Errorf("%s: found %q in an empty one", name, got)
		}
		for i := range 2000 {
			if _, err := l.Allow(t.Context(), "p", core.NewKey("k", strconv.Itoa(i)), 1); err != nil {
				t.Fatal(err)
			}
		}
		if s := b.Stats(); name == "evicted" && s.Evicted == 0 || name == "shared" && s.Overflowed == 0 {
			t.Fatalf("%s: %+v", name, s)
		}
		if got := examine(t, b, p); !slices.Equal(got, []string{"memory-full"}) {
			t.Errorf("%s: found %q", name, got)
		}
	}
}
