package ancestors

import (
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

func TestDjangoRates(t *testing.T) {
	for text, want := range map[string]string{
		"100/s": "100/s", "100/10s": "100/10s", "100/10": "100/10s", "100/m": "100/m", "5/2h": "5/2h", "4/d": "4/d",
		"0/s": "0/s", "none": "none",
	} {
		if rates, err := core.ParseRates(text); err != nil || rates.String() != want {
			t.Errorf("ParseRates(%q) = %v, %v; want %s", text, rates, err, want)
		}
	}
	// What django-ratelimit reads as something else than it says.
	for _, text := range []string{"5/", "5/x", "5/-1s", "5/m/extra", "5/2 m x", "٥/m", "5/0s", ""} {
		if rates, err := core.ParseRates(text); err == nil {
			t.Errorf("ParseRates(%q) = %v, want an error", text, rates)
		}
	}
	for text, want := range map[string]string{
		"5/M": "5/m", "5/H": "5/h", "5/D": "5/d", "5/week": "5/7d", "5/month": "5/30d", "5/year": "5/365d",
	} {
		if rates, err := core.ParseRates(text); err != nil || rates.String() != want {
			t.Errorf("ParseRates(%q) = %v, %v; want %s", text, rates, err, want)
		}
	}
}

func TestDjangoZeroAndNone(t *testing.T) {
	// region zero
	closed := core.Policy{Name: "closed", Rate: "0/s"} // refuses everything
	free := core.Policy{Name: "free", Rate: "none"}    // limits nothing
	// endregion
	open(t, closed).play(`
		0s GET / -> 429
		9s GET / -> 429`)
	open(t, free).play(`0s GET / -> 200 x500`)
}

// region callable
var (
	hundred = core.Rates{{Limit: 100, Window: time.Hour}}
	noLimit = core.Rates{}
)

func anonymousOnly(_ string, r core.Request) (core.Rates, error) {
	if r != nil && r.User() != "" {
		return noLimit, nil
	}
	return hundred, nil
}

// endregion

func TestDjangoCallableRate(t *testing.T) {
	// region ratefunc
	pages := core.Policy{Name: "pages", RateFunc: anonymousOnly}
	// endregion
	open(t, pages).play(`
		0s GET / user:bob -> 200 x200
		0s GET / -> 200 x100
		0s GET / -> 429
		0s GET / user:bob -> 200`)
}

func TestDjangoWindows(t *testing.T) {
	// region windows
	exactly := core.Policy{Name: "login", Rate: "5/m", Strategy: core.FixedWindow{}, CountDenied: true}
	usual := core.Policy{Name: "login", Rate: "5/m"} // SlidingWindow, refused requests are not counted
	// endregion
	// The edge: ten requests in two seconds.
	open(t, exactly).play(`
		59s GET / -> 200 x5
		59s GET / -> 429 x3
		61s GET / -> 200 x5
		61s GET / -> 429`)
	open(t, usual).play(`
		59s GET / -> 200 x5
		59s GET / -> 429 x3
		61s GET / -> 200
		61s GET / -> 429`)
}
