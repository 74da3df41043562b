// Package denycache remembers which decisions a store has refused and until when,
// so that who keeps coming costs the store nothing.
package denycache

import (
	"hash/maphash"
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/stint-go/stint/core"
)

// What Settings mean where they say nothing.
const (
	DefaultSize = 1 << 14
	DefaultAge  = time.Second
)

// Settings of a Cache. The zero value is ready to use.
type Settings struct {
	// Size is how many refusals are remembered, rounded up to a power of two; 0 is
	// DefaultSize. They take 72 bytes each, all at once with the first refusal.
	Size int
	// Age bounds how long a refusal is remembered; 0 is DefaultAge. For so long
	// what another process resets or refunds is not noticed.
	Age time.Duration
}

// A Cache is the memory. A nil Cache remembers nothing. It is safe for concurrent
// use, never blocks who looks, and allocates once.
//
// What it remembers is one ask of a refused decision: the one with the longest
// wait, with its figures. It does so from when the store was asked until the
// first of these: the wait has passed; more fits than remained, so that the
// figures would change; Settings.Age. All by the monotonic clock of this process,
// so it does not matter what the store's clock says. In this process it forgets
// at once what Forget names, and where anything is charged to a cell that had
// something left.
type Cache struct {
	seeds [2]maphash.Seed
	start time.Time
	age   int64 // in microseconds, as all here
	size  int   // sets
	sets  atomic.Pointer[[]set]
	// partly is until when something may be remembered of a cell that had
	// something left.
	partly atomic.Int64
}

// ways are how many refusals share a place in the table: the one that ends first
// gives way.
const ways = 2

// A set is one place in the table. Its words are written while its version is
// odd, by whoever made it so; who reads looks at the version before and after.
type set struct {
	version atomic.Uint64
	emptied atomic.Int64 // the last Forget here
	entries [ways]entry
}

// An entry is what is remembered of one decision. Instants are those of
// Cache.now; forever is core.Forever.
type entry struct {
	cell      atomic.Uint64 // half the print of the cell that refused
	decision  atomic.Uint64 // the other half with that of the decision
	until     atomic.Int64  // how long the store need not be asked; 0: nothing here
	retryAt   atomic.Int64
	nextAt    atomic.Int64
	resetAt   atomic.Int64
	remaining atomic.Int64
	clock     atomic.Int64 // what the store's clock is ahead of Cache.now
}

// New returns an empty Cache.
func New(s Settings) *Cache {
	if s.Size <= 0 {
		s.Size = DefaultSize
	}
	if s.Age <= 0 {
		s.Age = DefaultAge
	}
	return &Cache{
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		start: time.Now(),
		age:   s.Age.Microseconds(),
		size:  1 << bits.Len(uint(max(1, (s.Size+ways-1)/ways)-1)),
	}
}

// Seeds are those of the prints of keys; nil for a nil Cache.
func (c *Cache) Seeds() *[2]maphash.Seed {
	if c == nil {
		return nil
	}
	return &c.seeds
}

// Now is the present, for Learn. It is never 0.
func (c *Cache) Now() int64 {
	if c == nil {
		return 0
	}
	return 1 + time.Since(c.start).Microseconds()
}

// RefuseOne is core.Refuser's.
func (c *Cache) RefuseOne(space *core.Space, rule core.Rule, key core.Print, cost int64) (core.Outcome, bool) {
	q, ever := question(rule, cost)
	if !ever {
		return never()
	}
	sets := c.sets.Load()
	if sets == nil {
		return core.Outcome{}, false
	}
	p := key.Xor(space.OutsideID())
	return c.find(*sets, p.A, p.B^q)
}

// never is the refusal under a quota of nothing, for which no cell matters.
func never() (core.Outcome, bool) {
	return core.Outcome{
		Judgement: core.Judgement{RetryAfter: core.Forever, NextAfter: core.Forever},
		Now:       time.Now().UnixMicro(),
	}, true
}

// Refuse is core.Refuser's.
func (c *Cache) Refuse(asks []core.Ask) (which int, o core.Outcome) {
	hopeless, strikes := -1, false
	for i := range asks {
		a := &asks[i]
		if a.Soft || a.When == core.Always || a.When == core.OnRefuse && !a.IsBan() {
			return -1, o
		}
		strikes = strikes || a.When == core.OnRefuse
		if _, ever := question(a.Rule, a.Cost); !ever {
			hopeless = i
		}
	}
	sets := c.sets.Load()
	switch {
	case hopeless >= 0 && strikes:
		return -1, o
	case hopeless >= 0:
		o, _ = never()
		return hopeless, o
	case sets == nil || len(asks) == 0:
		return -1, o
	}
	d := c.decision(asks)
	for i := range asks {
		if o, ok := c.find(*sets, c.print(&asks[i].Cell).A, d); ok {
			return i, o
		}
	}
	return -1, o
}

// find looks for a refusal that stands.
func (c *Cache) find(sets []set, cell, decision uint64) (o core.Outcome, ok bool) {
	s := &sets[cell&uint64(len(sets)-1)]
	for i := range s.entries {
		e := &s.entries[i]
		version := s.version.Load()
		if e.cell.Load() != cell || e.decision.Load() != decision {
			continue
		}
		now := c.Now()
		until := e.until.Load()
		o.RetryAfter = after(e.retryAt.Load(), now)
		o.NextAfter = after(e.nextAt.Load(), now)
		o.ResetAfter = after(e.resetAt.Load(), now)
		o.Remaining = e.remaining.Load()
		o.Now = e.clock.Load() + now
		if version&1 == 0 && s.version.Load() == version && now < until {
			return o, true
		}
		return core.Outcome{}, false
	}
	return o, false
}

// after is the wait until an instant, of a figure that has not passed.
func after(at, now int64) int64 {
	if at == core.Forever {
		return at
	}
	return max(0, at-now)
}

// instant is the reverse; a wait of 0 is none at any time.
func instant(wait, now int64) int64 {
	switch {
	case wait == 0:
		return 0
	case wait > core.Forever-now:
		return core.Forever
	}
	return now + wait
}

// Learn is told of every Take by the store's own clock that was sent at that
// Cache.Now, with the instant that it returned.
func (c *Cache) Learn(sent, storeNow int64, asks []core.Ask, out []core.Verdict) {
	if c == nil {
		return
	}
	for first := 0; first < len(asks); {
		end := first + 1
		for end < len(asks) && asks[end].Group == asks[first].Group {
			end++
		}
		if which := longest(asks[first:end], out[first:end]); which >= 0 {
			c.remember(sent, storeNow, asks[first:end], which, &out[first+which])
		}
		first = end
	}
	partly := c.partly.Load() > sent
	for i := range asks {
		// What is admitted changes no cell that is full, and a strike no ban.
		if out[i].Charged && (partly || asks[i].When != core.OnAdmit) && !stands(&asks[i], &out[i]) {
			c.Forget(asks[i].Cell)
		}
	}
}

// longest is the refusing ask of a decision that has it wait the longest, -1
// where the decision is admitted or not to be remembered. Where there are bans,
// it is the only one: who lifts it, or waits for its end, is struck again.
func longest(asks []core.Ask, out []core.Verdict) int {
	which, bans := -1, 0
	for i := range asks {
		a, v := &asks[i], &out[i]
		if a.Soft || v.Err != nil || (a.When != core.OnAdmit || v.Charged) && !stands(a, v) {
			return -1
		}
		if _, ever := question(a.Rule, a.Cost); !ever {
			return -1 // known without
		}
		if a.When == core.OnRefuse {
			bans++
		}
		if !v.OK && (which < 0 || v.RetryAfter > out[which].RetryAfter) {
			which = i
		}
	}
	if bans > 1 || bans == 1 && asks[which].When != core.OnRefuse {
		return -1
	}
	return which
}

// stands reports whether a ban refuses: it is not struck then.
func stands(a *core.Ask, v *core.Verdict) bool {
	return a.When == core.OnRefuse && !v.OK && v.Err == nil && a.IsBan()
}

// remember enters a refusal.
func (c *Cache) remember(sent, storeNow int64, asks []core.Ask, which int, v *core.Verdict) {
	now := c.Now()
	hold := min(v.RetryAfter, c.age)
	if v.NextAfter > 0 {
		hold = min(hold, v.NextAfter)
	}
	if sent+hold <= now {
		return
	}
	cell, decision := c.print(&asks[which].Cell).A, c.decision(asks)
	s := c.set(cell)
	version := s.version.Load()
	if version&1 != 0 || !s.version.CompareAndSwap(version, version+1) {
		return // somebody writes here: next time
	}
	if s.emptied.Load() < sent {
		if v.Remaining > 0 {
			raise(&c.partly, sent+hold)
		}
		e := s.room(cell, decision, now)
		e.cell.Store(cell)
		e.decision.Store(decision)
		e.until.Store(sent + hold)
		e.retryAt.Store(instant(v.RetryAfter, now))
		e.nextAt.Store(instant(v.NextAfter, now))
		e.resetAt.Store(instant(v.ResetAfter, now))
		e.remaining.Store(v.Remaining)
		e.clock.Store(storeNow - now)
	}
	s.version.Store(version + 2)
}

func raise(a *atomic.Int64, to int64) {
	for old := a.Load(); old < to && !a.CompareAndSwap(old, to); old = a.Load() {
	}
}

// room is the entry of the decision, or the one that ends first.
func (s *set) room(cell, decision uint64, now int64) *entry {
	room := &s.entries[0]
	for i := range s.entries {
		e := &s.entries[i]
		if e.cell.Load() == cell && e.decision.Load() == decision {
			return e
		}
		if e.until.Load() < room.until.Load() {
			room = e
		}
	}
	return room
}

// Forget drops all that is remembered of the cells: they were reset, or charges
// to them were corrected. It is called when the store has done so; what was asked
// before is not remembered.
func (c *Cache) Forget(cells ...core.Cell) {
	if c == nil {
		return
	}
	for i := range cells {
		cell := c.print(&cells[i]).A
		s := c.set(cell)
		version := s.version.Load()
		for version&1 != 0 || !s.version.CompareAndSwap(version, version+1) {
			runtime.Gosched()
			version = s.version.Load()
		}
		for k := range s.entries {
			if e := &s.entries[k]; e.cell.Load() == cell {
				e.until.Store(0)
			}
		}
		raise(&s.emptied, c.Now())
		s.version.Store(version + 2)
	}
}

// set is the place of a cell in the table, which is made when first needed.
func (c *Cache) set(cell uint64) *set {
	sets := c.sets.Load()
	if sets == nil {
		fresh := make([]set, c.size)
		c.sets.CompareAndSwap(nil, &fresh)
		sets = c.sets.Load()
	}
	return &(*sets)[cell&uint64(len(*sets)-1)]
}

// print is that of a cell.
func (c *Cache) print(cell *core.Cell) core.Print {
	return cell.Key.Print(&c.seeds).Xor(cell.Space.OutsideID())
}

// decision is what tells decisions apart that the same cell refuses: the cells,
// costs and rules of all their asks.
func (c *Cache) decision(asks []core.Ask) (d uint64) {
	for i := range asks {
		p := c.print(&asks[i].Cell)
		q, _ := question(asks[i].Rule, asks[i].Cost)
		if len(asks) == 1 {
			return p.B ^ q
		}
		hi, lo := bits.Mul64(p.A|1, p.B^q)
		d += hi ^ lo
	}
	return d
}

// question tells costs and rules of one cell apart, and whether the rule ever
// admits anything. Rules of one cell have the same shape and window, and differ
// in their quota.
func question(rule core.Rule, cost int64) (q uint64, ever bool) {
	units, window := rule.Quota()
	q = uint64(cost)*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(uint64(units)*0xbf58476d1ce4e5b9, 21) ^
		bits.RotateLeft64(uint64(window)*0x94d049bb133111eb, 42)
	return q, units > 0
}
