package core

import (
	"testing"
	"time"
)

// Whatever a rate function makes up, what is kept of it is bounded.
func TestBindingsAreBounded(t *testing.T) {
	b := &binder{policy: &policy{name: "plan"}, strategy: SlidingWindow{}, naming: new(Naming)}
	rates := func(n int) Rates { return Rates{{Limit: int64(n), Window: time.Minute}} }
	kept, err := b.cached(rates(1))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := b.cached(rates(1)); again[0] != kept[0] {
		t.Error("a rate that comes back is bound anew")
	}
	for n := range 3 * maxCachedRates {
		b.cached(rates(n))
		if len(b.cache) > maxCachedRates {
			t.Fatalf("%d rates are kept", len(b.cache))
		}
	}
}
