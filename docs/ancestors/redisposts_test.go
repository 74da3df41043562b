package ancestors

import (
	"testing"

	"github.com/stint-go/stint/core"
)

func TestPostsListAndSortedSet(t *testing.T) {
	// region log
	rolling := core.Policy{Name: "api", Rate: "5/m", Strategy: core.MovingWindow{}}
	// endregion
	open(t, rolling).play(`
		0s       GET / -> 200 x5
		0s       GET / -> 429 x7
		59.999s  GET / -> 429
		60s      GET / -> 200 x5
		60s      GET / -> 429`)
}

func TestPostsCounter(t *testing.T) {
	// region counter
	counter := core.Policy{Name: "api", Rate: "5/m", Strategy: core.FixedWindow{Align: core.FirstHit}, CountDenied: true}
	minute := core.Policy{Name: "api", Rate: "5/m", Strategy: core.FixedWindow{Align: core.Clock}}
	// endregion
	open(t, counter).play(`
		30s GET / -> 200 x5
		89s GET / -> 429
		90s GET / -> 200 x5`)
	open(t, minute).play(`
		30s GET / -> 200 x5
		59s GET / -> 429
		60s GET / -> 200 x5`)
}

func TestPostsLargeLimits(t *testing.T) {
	if _, err := core.ParseRate("20000/d"); err != nil {
		t.Fatal(err)
	}
	open(t, core.Policy{Name: "bulk", Rate: "20000/d", Strategy: core.MovingWindow{Max: 20000}}).play(`0s GET / -> 200 x3`)
	p := core.Policy{Name: "bulk", Rate: "20000/d", Strategy: core.MovingWindow{}}
	if _, err := core.New(core.Config{Backend: broken{}, Policies: []core.Policy{p}}); err == nil {
		t.Error("a log of 20000 units needs no asking for")
	}
	// region large
	bulk := core.Policy{Name: "bulk", Rate: "20000/d"} // three words, and close to the log's answers
	// endregion
	open(t, bulk).play(`0s GET / -> 200 x3`)
}
