package redislimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/stint-go/stint/core"
)

// Rules that Lua does not know are applied here, by compare-and-swap of all
// cells of a decision or of a Settle: read.lua and write.lua, twice a round trip, and again
// where somebody came between.

var readCells = [2]*program{newProgram(clock(false) + code(source("read"))), newProgram(clock(true) + code(source("read")))}
var writeCells = newProgram(code(source("write")))

// swaps is how often a decision is tried before it gives up with ErrContention;
// the time-out may end it earlier.
const swaps = 200

// A snapshot is a cell as it was read.
type snapshot struct {
	t     *target
	text  any // nil: empty
	was   core.State
	state core.State
	err   error
	now   int64
}

// swap decides the asks of one or several decisions in one place.
func (b *Backend) swap(ctx context.Context, at int64, ts []target) (now int64, cells []seen, err error) {
	err = b.update(ctx, at, ts, func(snaps []snapshot) {
		now, cells = snaps[0].now, make([]seen, len(ts))
		for i := range snaps {
			cells[i] = seen{slices.Clone(snaps[i].state), snaps[i].err}
		}
		eachDecision(ts, func(first, end int) {
			ok, admitted, broken := judge(now, ts[first:end], cells[first:end])
			for i := first; i < end; i++ {
				if t := &ts[i]; cells[i].err == nil && t.charged(ok[i-first], admitted, broken) {
					snaps[i].state, _ = t.Rule.Charge(snaps[i].state, now, t.phase, t.cost)
				}
			}
		})
	})
	return now, cells, err
}

// update reads the cells, has them changed, and writes what changed if nobody
// else wrote in between; otherwise again.
func (b *Backend) update(ctx context.Context, at int64, ts []target, change func([]snapshot)) error {
	for try := range swaps {
		snaps, err := b.read(ctx, at, ts)
		if err != nil {
			return contended(try, err)
		}
		change(snaps)
		done, err := b.write(ctx, at, snaps)
		if err != nil || done {
			return contended(try, err)
		}
	}
	return fmt.Errorf("redislimit: %w", ErrContention)
}

// contended is err; but where no time was left to send anything after tries that
// were undone by others, it was they.
func contended(tries int, err error) error {
	if tries > 0 && errors.Is(err, ErrPool) {
		return fmt.Errorf("redislimit: %w: %w", ErrContention, err)
	}
	return err
}

func (b *Backend) read(ctx context.Context, at int64, ts []target) ([]snapshot, error) {
	keys := make([]string, len(ts))
	var args []any
	p := readCells[0]
	if at != 0 {
		p, args = readCells[1], append(args, at)
	}
	for i := range ts {
		keys[i] = ts[i].name
	}
	reply, err := b.eval(ctx, p, keys, args)
	if err != nil {
		return nil, b.fail("read", err)
	}
	elements, _ := reply.([]any)
	now, _ := first[int64](elements)
	if len(elements) != len(ts)+1 || now <= 0 {
		return nil, fmt.Errorf("redislimit: read: %w: a reply of %T", core.ErrProtocol, reply)
	}
	snaps := make([]snapshot, len(ts))
	for i := range ts {
		s := &snaps[i]
		*s = snapshot{t: &ts[i], text: elements[i+1], now: now}
		var ok bool
		if ts[i].Strategy == "moving-window" {
			s.state, ok = parseLog(s.text)
		} else {
			s.state, ok = parseState(ts[i].Rule, ts[i].Strategy, plain(s.text))
		}
		if s.was = slices.Clone(s.state); !ok {
			s.err = foreign(ts[i].name)
		}
	}
	return snaps, nil
}

func first[T any](elements []any) (v T, ok bool) {
	if len(elements) == 0 {
		return v, false
	}
	v, ok = elements[0].(T)
	return v, ok
}

// write writes the cells whose state has changed, and tells whether all cells
// were as they had been read.
func (b *Backend) write(ctx context.Context, at int64, snaps []snapshot) (done bool, err error) {
	keys, args := make([]string, len(snaps)), make([]any, 0, 3*len(snaps))
	changed := false
	for i := range snaps {
		s := &snaps[i]
		keys[i] = s.t.name
		next, ttl := s.next(at != 0)
		if s.err != nil || s.unchanged() || next == "" && s.text == nil {
			next, ttl = "=", 0
		}
		changed = changed || next != "="
		args = append(args, text(s.text), next, ttl)
	}
	if !changed {
		return true, nil
	}
	reply, err := b.eval(ctx, writeCells, keys, args)
	if err != nil {
		return false, b.fail("write", err)
	}
	return reply == int64(1), nil
}

func (s *snapshot) unchanged() bool {
	if s.t.Strategy == "moving-window" {
		return slices.Equal(core.LogPairs(s.was), core.LogPairs(s.state))
	}
	return slices.Equal(s.was, s.state)
}

// next is the text of the changed state, "" where it is empty, and its time to
// live in milliseconds.
func (s *snapshot) next(explicit bool) (any, int64) {
	until := int64(0)
	if len(s.state) > 0 {
		until = s.t.Rule.Until(s.state)
	}
	if until == 0 {
		return "", 0
	}
	least := int64(1)
	if explicit {
		least = leastExplicit
	}
	ttl := max((until-s.now+999)/1000+1, least)
	if s.t.Strategy == "moving-window" {
		return logText(s.state), ttl
	}
	return "s" + string(appendState(nil, s.t.Strategy, s.state)), ttl
}

// plain is a cell's text without the letter that tells its type, nil where that
// is not a string's.
func plain(element any) any {
	if t, ok := element.(string); ok && len(t) > 0 && t[0] == 's' {
		return t[1:]
	} else if ok {
		return false
	}
	return element
}

// text is what write.lua compares with.
func text(element any) any {
	if element == nil {
		return ""
	}
	return element
}

// parseLog reads a whole log: "lstamp total stamp total ...".
func parseLog(element any) (core.State, bool) {
	if element == nil {
		return nil, true
	}
	t, _ := element.(string)
	if len(t) == 0 || t[0] != 'l' {
		return nil, false
	}
	words, ok := parseWords(t[1:], nil)
	if !ok || len(words)%2 != 0 {
		return nil, false
	}
	var pairs []int64
	for i := 2; i < len(words); i += 2 {
		units := words[i+1] - words[i-1]
		if units <= 0 || i > 2 && words[i] <= words[i-2] {
			return nil, false
		}
		pairs = append(pairs, words[i], units)
	}
	return core.LogState(pairs), true
}

func logText(s core.State) string {
	b, total := []byte("l0 0"), int64(0)
	pairs := core.LogPairs(s)
	for i := 0; i < len(pairs); i += 2 {
		total += pairs[i+1]
		b = strconv.AppendInt(append(b, ' '), pairs[i], 10)
		b = strconv.AppendInt(append(b, ' '), total, 10)
	}
	return string(b)
}
