package adaptertest

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

// Options are what the suite runs with. Backend is required.
type Options struct {
	// Backend makes an empty backend: one that nothing else uses, be it by a
	// prefix of its own. What it holds open ends by tb.Cleanup.
	Backend func(tb testing.TB) core.Backend
	// Effort is how often rows repeat what they repeat, in percent; 0 is 100.
	Effort int
	// Check, if set, is shown the header fields of every answer.
	Check func(tb testing.TB, h http.Header)
}

// A Record is what clients saw, by row: the answers in their order, without what
// is bound to differ (dates, names of servers). Records of two adapters are
// equal but for the rows in which one of them has declared a Difference.
type Record map[string][]string

// Run runs all rows: the table and the attacks.
func Run(t *testing.T, a Adapter, o Options) Record {
	r := Table(t, a, o)
	for _, id := range Attacks() {
		maps.Copy(r, Attack(t, a, o, id))
	}
	return r
}

// Table runs the rows that say what an adapter does.
func Table(t *testing.T, a Adapter, o Options) Record {
	t.Helper()
	met := map[string]bool{}
	record := runRows(t, a, o, table, met)
	for _, d := range a.Differs {
		if !met[d.Row] && !t.Failed() {
			t.Errorf("%s declares a difference in %q, which is no row that can differ", a.Name, d.Row)
		}
	}
	return record
}

// Attack runs the rows that repel one attack, of those that Attacks names.
func Attack(t *testing.T, a Adapter, o Options, id string) Record {
	t.Helper()
	rows := attacks[id]
	if rows == nil {
		t.Fatalf("no attack %q; there are %s", id, strings.Join(Attacks(), " "))
	}
	return runRows(t, a, o, rows, map[string]bool{})
}

// Attacks are the names of the attacks.
func Attacks() []string { return slices.Sorted(maps.Keys(attacks)) }

// A row is one line of the table.
type row struct {
	name string
	run  func(*suite)
}

func runRows(t *testing.T, a Adapter, o Options, rows []row, met map[string]bool) Record {
	t.Helper()
	if a.Name == "" || a.Serve == nil || a.Native == nil || o.Backend == nil {
		t.Fatal("an Adapter needs Name, Serve and Native, and Options a Backend")
	}
	record := Record{}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := &suite{T: t, Adapter: a, Options: o, row: row.name, met: met}
			s.clock.Store(epoch)
			row.run(s)
			record[row.name] = s.lines
		})
	}
	return record
}

// epoch is where every row's clock stands: 20 s past a minute.
const epoch int64 = 1_700_000_000 * 1e6

// A suite is one row at work on one adapter.
type suite struct {
	*testing.T
	Adapter
	Options
	row   string
	met   map[string]bool // rows that asked for a declared difference
	clock atomic.Int64    // microseconds
	log   logs

	mu    sync.Mutex
	lines []string
}

// note puts a line into the Record.
func (s *suite) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

func (s *suite) advance(d time.Duration) { s.clock.Add(d.Microseconds()) }

// times is n by Options.Effort.
func (s *suite) times(n int) int { return max(1, n*cmp.Or(s.Effort, 100)/100) }

// differ compares what happened with what the suite wants, or with what the
// adapter has declared for the row of that name.
func (s *suite) differ(row, got, want string) {
	s.Helper()
	why := ""
	if i := slices.IndexFunc(s.Differs, func(d Difference) bool { return d.Row == row }); i >= 0 {
		d := s.Differs[i]
		s.met[row] = true
		if d.Want == want {
			s.Errorf("%s: %s declares %q as a difference, but that is what all do", row, s.Name, want)
		}
		want, why = d.Want, " ("+d.Why+")"
	}
	if got != want {
		s.Errorf("%s: %s, want %s%s", row, got, want, why)
	}
}

// equal compares and records.
func (s *suite) equal(what string, got, want any) {
	s.Helper()
	if got != want {
		s.Errorf("%s: %v, want %v", what, got, want)
	}
	s.note(fmt.Sprintf("%s: %v", what, got))
}

// limiter makes a Limiter of policies over a fresh backend, on the row's clock.
func (s *suite) limiter(policies ...core.Policy) *core.Limiter {
	s.Helper()
	return s.configured(core.Config{Policies: policies})
}

// configured completes a Config and makes its Limiter.
func (s *suite) configured(c core.Config) *core.Limiter {
	s.Helper()
	if c.Backend == nil {
		c.Backend = s.Backend(s.T)
	}
	c.Now = func() time.Time { return time.UnixMicro(s.clock.Load()) }
	c.Phase = func(core.Cell) int64 { return 0 }
	c.Logger = slog.New(slog.NewTextHandler(&s.log, nil))
	if len(c.Proxies) == 0 && c.Client == nil && !distinct() {
		c.Proxies = theProxy
	}
	l, err := core.New(c)
	if err != nil {
		s.Fatal(err)
	}
	return l
}

// remaining is what is left for a key. It charges nothing.
func (s *suite) remaining(l *core.Limiter, policy string, k core.Key) int64 {
	s.Helper()
	d, err := l.Peek(context.Background(), policy, k, 0)
	if err != nil {
		s.Fatal(err)
	}
	return d.Remaining
}

// exact is a policy that admits n a minute and forgets each exactly a minute
// later, so that all figures are plain.
func exact(name, rate string) core.Policy {
	return core.Policy{Name: name, Rate: rate, Strategy: core.MovingWindow{}}
}

// counting is exact with a key.
func counting(name, rate string, k core.KeySource) core.Policy {
	p := exact(name, rate)
	p.Key = k
	return p
}

// logs keeps what a Limiter has logged.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
