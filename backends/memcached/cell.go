package memcachedlimit

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stint-go/stint/core"
)

// explicitMark comes after the naming's prefix in the names of cells that are
// used with explicit instants, so that they never meet those of the process's
// clock and can be told apart: "rl:at:1:{...}:...".
const explicitMark = "at:"

// mark stands between the name of a cell and what tells its items apart.
const mark = '#'

// A cell is an ask, where its cell is in memcached, and what is known of it.
type cell struct {
	*core.Ask
	layout
	name     string
	phase    int64
	explicit bool
	last     bool // of its decision

	number int64          // of the current sub-window
	epoch  string         // of the counters, with explicit instants
	item   *memcache.Item // as it was read, of a cell that is one item
	state  core.State     // before this ask charges it
	own    [2][4]int64    // room for small states: this one, and the one after
	ok     bool           // the rule's word on that state
	err    error

	charged bool
	stuck   bool // charged, and could not be given back
}

var errInput = errors.New("memcachedlimit: take and settle need as many verdicts, receipts and deltas as asks, " +
	"a rule and a space in each ask, and no cost below 0")

// cellsOf finds out where asks go.
func cellsOf(asks []core.Ask, explicit bool) ([]cell, error) {
	cells := make([]cell, len(asks))
	for i := range asks {
		a, c := &asks[i], &cells[i]
		if a.Rule == nil || a.Cell.Space == nil || a.Cost < 0 {
			return nil, errInput
		}
		var digest core.Digest
		c.Ask, c.explicit = a, explicit
		c.name, digest = cellName(&a.Cell, explicit)
		c.phase = a.Cell.Phase(digest.Hash())
		c.layout = layoutOf(a.Rule, a.Cell.Space)
		c.err = tooLarge(a.Rule)
		c.last = i == len(asks)-1 || asks[i+1].Group != a.Group
	}
	return cells, nil
}

// cellName is what the keys of a cell begin with.
func cellName(c *core.Cell, explicit bool) (string, core.Digest) {
	var buf [200 + len(explicitMark)]byte
	digest := c.Digest()
	name := c.Space.AppendName(buf[:0], digest)
	if explicit {
		// The version, "1:", stands between the prefix and the tag.
		at := max(0, bytes.IndexByte(name, '{')-len("1:"))
		name = append(name, explicitMark...)
		copy(name[at+len(explicitMark):], name[at:])
		copy(name[at:], explicitMark)
	}
	return string(name), digest
}

// cellOf is the name of the cell that a key belongs to.
func cellOf(key string) string {
	tag := strings.IndexByte(key, '}') + 1 // a prefix may contain the mark, but no brace
	if i := strings.IndexByte(key[tag:], mark); i >= 0 {
		return key[:tag+i]
	}
	return key
}

// counter is the key of a cell's counter.
func (c *cell) counter(number int64) string {
	var buf [256]byte
	b := append(buf[:0], c.name...)
	if c.explicit {
		b = append(append(b, mark), c.epoch...)
	}
	return string(strconv.AppendInt(append(b, mark), number, 10))
}

// keys are those of the items that say all about the cell at an instant; of
// counters the last one first.
func (c *cell) keys(now int64) []string {
	if c.count == 0 {
		return []string{c.name}
	}
	c.number = c.layout.number(now, c.phase)
	keys := make([]string, c.ahead+c.count)
	for i := range keys {
		keys[i] = c.counter(c.number + int64(c.ahead-i))
	}
	return keys
}

// read takes the state from the items that were found at keys.
func (c *cell) read(keys []string, items map[string]*memcache.Item) {
	if c.count == 0 {
		c.hold(items[c.name])
		return
	}
	units := make([]int64, len(keys))
	for i, key := range keys {
		if units[i], c.err = parseCount(items[key]); c.err != nil {
			return
		}
	}
	first := 0 // that was charged, or the current one
	for first < c.ahead && units[first] == 0 {
		first++
	}
	c.number += int64(c.ahead - first)
	c.state = c.room(0, 1+c.count)
	copy(c.state[1:], units[first:])
	c.state = c.with(c.state[1])
}

// hold takes the state from the cell's item, nil where there is none.
func (c *cell) hold(item *memcache.Item) {
	c.item = item
	c.state, c.err = parseState(c.Rule, item, c.room(0, c.Rule.Words()))
}

// with is the state where the current counter holds that many units.
func (c *cell) with(units int64) core.State {
	c.state[0], c.state[1] = c.end(c.number, c.phase), max(0, units)
	return c.empty(c.state)
}

func (c *cell) judge(now int64) core.Judgement {
	return c.Rule.Decide(c.state, now, c.phase, c.Cost)
}

// after is the state once the ask is charged, and the receipt. It is good until
// the next call.
func (c *cell) after(now int64) (core.State, core.Receipt) {
	next := c.room(1, len(c.state))
	copy(next, c.state)
	return c.Rule.Charge(next, now, c.phase, c.Cost)
}

// room is a state of so many words, in the cell itself where they fit.
func (c *cell) room(i, words int) core.State {
	if words > len(c.own[i]) {
		return make(core.State, words)
	}
	return core.State(c.own[i][:words:words])
}

// verdict describes the cell after the step. admitted is the decision's for a
// hard ask, its own for a soft one.
func (c *cell) verdict(now int64, admitted bool) core.Verdict {
	if c.err != nil {
		return core.Verdict{Err: c.err}
	}
	v := core.Verdict{Judgement: c.judge(now), Charged: c.charged}
	if !c.charged {
		if v.OK { // Decide foretold a charge that was not made
			v.Judgement = c.Rule.Decide(c.state, now, c.phase, 0)
			v.OK, v.RetryAfter = true, 0
		}
		return v
	}
	after, receipt := c.after(now)
	if !v.OK { // the promise to come again counts from here
		v.Judgement = c.Rule.Decide(after, now, c.phase, c.Cost)
	}
	if admitted || c.stuck {
		v.Receipt = receipt
	}
	return v
}

// tooLarge is the error of a rule whose states may not fit an item.
func tooLarge(rule core.Rule) error {
	units, _ := rule.Quota()
	if p, ok := rule.(core.Programmed); !ok || p.Program().Strategy != movingWindow || units <= maxLog {
		return nil
	}
	return fmt.Errorf("memcachedlimit: moving-window: %w: a log of %d units may not fit an item of memcached: use at most %d, or BucketedWindow",
		core.ErrUnsupported, units, maxLog)
}
