package breaker

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fail lets n calls fail, about keys in turn.
func fail(t *testing.T, b *Breaker, keys ...uint64) {
	t.Helper()
	for _, k := range keys {
		c, ok := b.Begin()
		if !ok {
			t.Fatal("a call was turned away")
		}
		b.Failed(c, k, false)
	}
}

func TestOpensOnFailuresOfTwoKeys(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings Settings
		keys     []uint64
		open     bool
	}{
		{"five of two keys", Settings{}, []uint64{1, 1, 1, 1, 2}, true},
		{"four", Settings{}, []uint64{1, 2, 3, 4}, false},
		{"many of one key", Settings{}, make([]uint64, 1000), false},
		{"as many as set", Settings{Failures: 2}, []uint64{1, 2}, true},
		{"switched off", Settings{Failures: -1}, []uint64{1, 2, 3, 4, 5, 6, 7, 8}, false},
	} {
		b := New(c.settings)
		fail(t, b, c.keys...)
		if open, changes := b.State(); open != c.open || b.Open() != c.open || (changes == 1) != c.open {
			t.Errorf("%s: open %v, changes %d", c.name, open, changes)
		}
	}
}

// A call that fails while others are answered says nothing, however many do.
func TestAnswersInBetweenKeepItClosed(t *testing.T) {
	b := New(Settings{})
	for i := range uint64(100) {
		slow, _ := b.Begin()
		quick, ok := b.Begin()
		if !ok {
			t.Fatal("it is open")
		}
		b.Answered(quick)
		b.Failed(slow, i, false)
	}
	fail(t, b, 1, 2, 3, 4)
	c, _ := b.Begin()
	b.Answered(c)
	fail(t, b, 1, 2, 3, 4)
}

// Settings.Interval passes between two probes, and the first answer closes.
func TestProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Settings{})
		fail(t, b, 1, 2, 3, 4, 5)
		for range 5 {
			begun := time.Now()
			for {
				if _, ok := b.Begin(); ok {
					break
				}
				if !b.Open() {
					t.Fatal("Open is false, but the call was turned away")
				}
				time.Sleep(time.Millisecond)
			}
			if d := time.Since(begun); d != DefaultInterval {
				t.Fatalf("a probe after %v", d)
			}
			if _, ok := b.Begin(); ok {
				t.Fatal("two probes at once")
			}
		}
		time.Sleep(DefaultInterval)
		c, ok := b.Begin()
		if !ok {
			t.Fatal("no probe")
		}
		b.Answered(c)
		if open, changes := b.State(); open || changes != 2 {
			t.Fatalf("after an answer: open %v, %d changes", open, changes)
		}
	})
}

// A probe for which nothing was sent is soon followed by another.
func TestIdleProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Settings{})
		fail(t, b, 1, 2, 3, 4, 5)
		time.Sleep(DefaultInterval)
		c, _ := b.Begin()
		b.Failed(c, 1, true)
		time.Sleep(soon)
		if _, ok := b.Begin(); !ok {
			t.Error("no probe soon after an idle one")
		}
		if _, ok := b.Begin(); ok {
			t.Error("two probes at once")
		}
	})
}

// A probe that nobody tells the end of does not keep it open or closed for ever.
func TestProbeWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Settings{})
		fail(t, b, 1, 2, 3, 4, 5)
		for range 3 {
			time.Sleep(DefaultInterval)
			if _, ok := b.Begin(); !ok {
				t.Fatal("no probe")
			}
		}
	})
}

// model is the same as plainly as it can be said: it remembers every event.
type model struct {
	settings Settings
	open     bool
	next     time.Time
	events   []event // of the calls that have ended
	changes  int64
}

type event struct {
	answered bool
	key      uint64
	begun    int // events before it began
}

func (m *model) begin() bool {
	if !m.open {
		return true
	}
	if time.Now().Before(m.next) {
		return false
	}
	m.next = time.Now().Add(m.settings.Interval)
	return true
}

func (m *model) end(e event) {
	m.events = append(m.events, e)
	if e.answered {
		if m.open {
			m.open = false
			m.changes++
		}
		return
	}
	if m.open {
		return
	}
	last := 0 // where the last answer is
	for i, e := range m.events {
		if e.answered {
			last = i + 1
		}
	}
	failures, keys := 0, map[uint64]bool{}
	for _, e := range m.events {
		if !e.answered && e.begun >= last {
			failures++
			keys[e.key] = true
		}
	}
	if failures >= m.settings.Failures && len(keys) > 1 {
		m.open, m.next = true, time.Now().Add(m.settings.Interval)
		m.changes++
	}
}

// Random histories of calls that overlap.
func TestHistoriesAgreeWithTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := int64(0)
		for seed := range uint64(3000) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := Settings{Failures: 1 + r.IntN(4), Interval: time.Duration(1+r.IntN(5)) * time.Millisecond}
			b, m := New(s), &model{settings: s}
			type flight struct {
				call  Call
				begun int
			}
			var flights []flight
			bad := r.Float64()
			for range 80 {
				switch r.IntN(4) {
				case 0:
					time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
				case 1, 2:
					c, ok := b.Begin()
					if want := m.begin(); ok != want {
						t.Fatalf("seed %d: let through %v, the model says %v", seed, ok, want)
					}
					if ok {
						flights = append(flights, flight{c, len(m.events)})
					}
				default:
					if len(flights) == 0 {
						continue
					}
					i := r.IntN(len(flights))
					f := flights[i]
					flights = append(flights[:i], flights[i+1:]...)
					e := event{answered: r.Float64() > bad, key: r.Uint64N(3), begun: f.begun}
					if e.answered {
						b.Answered(f.call)
					} else {
						b.Failed(f.call, e.key, false)
					}
					m.end(e)
				}
				if open, changes := b.State(); open != m.open || changes != m.changes {
					t.Fatalf("seed %d: open %v, %d changes; the model says %v, %d", seed, open, changes, m.open, m.changes)
				}
			}
			opened += m.changes
		}
		if opened < 1000 {
			t.Errorf("only %d changes in all histories", opened)
		}
	})
}

// Whatever comes together, an answer that comes last leaves it closed, and it
// never lets two probes through at once.
func TestTogether(t *testing.T) {
	for range 200 {
		b := New(Settings{Failures: 2, Interval: time.Hour})
		var wg sync.WaitGroup
		for i := range uint64(8) {
			wg.Go(func() {
				c, ok := b.Begin()
				switch {
				case !ok:
				case i%4 == 3:
					b.Answered(c)
				default:
					b.Failed(c, i, false)
				}
			})
		}
		wg.Wait()
		b.Answered(Call{})
		if open, _ := b.State(); open {
			t.Fatal("open after an answer")
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	br := New(Settings{Interval: time.Hour})
	for i := range uint64(5) {
		c, _ := br.Begin()
		br.Failed(c, i, false)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !br.Open() {
			b.Fatal("closed")
		}
	}
}
