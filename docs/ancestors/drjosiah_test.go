package ancestors

import (
	"strconv"
	"testing"

	"github.com/stint-go/stint/core"
)

func TestScriptSeveralLimits(t *testing.T) {
	// region limits
	// [[1, 10], [60, 120], [3600, 240, 60]]: duration, limit, precision
	api := core.Policy{
		Name:     "api",
		Rate:     "10/s@1s; 120/m@1m; 240/h@1m",
		Strategy: core.BucketedWindow{Inclusive: true, Align: core.Clock},
	}
	// endregion
	s := open(t, api)
	s.play(`
		0s GET / -> 200 x10
		0s GET / -> 429 x50`) // refused: charged to none of the three
	for second := 1; second < 12; second++ {
		s.play(strconv.Itoa(second) + "s GET / -> 200 x10")
	}
	s.play(`
		12s GET / -> 429`) // 120 in this minute
	for second := 60; second < 72; second++ {
		s.play(strconv.Itoa(second) + "s GET / -> 200 x10")
	}
	s.play(`
		2m      GET / -> 429
		59m59s  GET / -> 429
		60m     GET / -> 200 x10`) // the first minute has left the hour
}

func TestScriptSeveralKeys(t *testing.T) {
	// region keys
	both := core.Policy{Name: "api", Rate: "3/m", By: "each(ip,user)"}
	// endregion
	open(t, both).play(`
		0s GET / user:bob from:192.0.2.1 -> 200 x2
		0s GET / user:bob from:192.0.2.2 -> 200
		0s GET / user:bob from:192.0.2.3 -> 429 x9
		0s GET / user:eve from:192.0.2.3 -> 200 x3
		0s GET / user:eve from:192.0.2.1 -> 429
		0s GET / user:joe from:192.0.2.1 -> 200
		0s GET / user:joe from:192.0.2.1 -> 429`)
}

// region weight

// ByLength charges a unit for every kilobyte that a request announces.
type ByLength struct{ core.Base }

// Cost makes the hook struct a core.Coster.
func (ByLength) Cost(r core.Request) int64 {
	n, _ := strconv.ParseInt(r.Header("X-Length"), 10, 64)
	return max(1, n/1024)
}

// endregion

func TestScriptWeight(t *testing.T) {
	open(t, core.Policy{Name: "upload", Rate: "10/m", Hooks: ByLength{}}).play(`
		0s POST / X-Length:4096 -> 200
		0s POST / X-Length:7168 -> 429 x9
		0s POST / X-Length:6144 -> 200
		0s POST / -> 429`)
}

func TestScriptPrecision(t *testing.T) {
	timeline := func(at string) string {
		return `
		59s    GET / -> 200 x5
		59s    GET / -> 429
		` + at + ` GET / -> 200 x5`
	}
	// region precision
	asInTheScript := core.Policy{Name: "api", Rate: "5/m@10s", Strategy: core.BucketedWindow{Inclusive: true, Align: core.Clock}}
	neverMore := core.Policy{Name: "api", Rate: "5/m@10s", Strategy: core.BucketedWindow{Align: core.Clock}}
	// endregion
	open(t, asInTheScript).play(timeline("110s"))
	open(t, neverMore).play("59s GET / -> 200 x5\n 110s GET / -> 429\n 119s GET / -> 429\n 120s GET / -> 200 x5")
}

func TestScriptRejects(t *testing.T) {
	for _, rate := range []string{"5/m; 6/60s", "5/m@7s", "5/m@0s"} {
		p := core.Policy{Name: "a", Rate: rate, Strategy: core.BucketedWindow{}}
		if _, err := core.New(core.Config{Backend: broken{}, Policies: []core.Policy{p}}); err == nil {
			t.Errorf("%s: no error", rate)
		}
	}
	l := open(t, core.Policy{Name: "a", Rate: "5/m"}).Limiter
	if d, err := l.Allow(t.Context(), "a", core.NewKey("k", "v"), -1); err == nil || d.Allowed {
		t.Error("negative cost:", d, err)
	}
}
