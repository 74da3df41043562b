package memcachedlimit

import (
	"strconv"
	"strings"

	"github.com/stint-go/stint/core"
)

// A layout says how a cell is kept as counters: windows or sub-windows that
// follow one another, each an item of its own with its number in the key. All
// strategies that are kept so have the same form of state, the end of the
// current one and then the units of it, of the one before, and so on. The zero
// layout is a cell that is one item with the whole state.
type layout struct {
	length int64 // of a sub-window, in microseconds
	count  int   // of the counters that make a state
	ahead  int   // how many later ones are looked at as well
}

// maxCounters is how many counters a decision reads at most. A cell of more is
// one item.
const maxCounters = 128

// layoutOf is the layout of a rule's cells.
func layoutOf(rule core.Rule, s *core.Space) layout {
	if _, ok := rule.(core.Programmed); !ok {
		return layout{} // its words may mean anything
	}
	y := layoutOfShape(s.Shape(), s.Window())
	if rule.Words() != 1+y.count {
		return layout{}
	}
	return y
}

// layoutOfShape is the layout of cells of whose rule only the shape is known, as
// core names them.
func layoutOfShape(shape string, window int64) (y layout) {
	kind, rest, _ := strings.Cut(shape, "-")
	align := rest
	switch kind {
	case "fixed":
		y = layout{length: window, count: 1}
	case "sliding":
		y = layout{length: window, count: 2}
	case "bucket", "bucketi":
		var p string
		p, align, _ = strings.Cut(rest, "-")
		n, err := strconv.ParseInt(p, 10, 64)
		if err != nil || n <= 0 || window%n != 0 || window/n >= maxCounters {
			return layout{}
		}
		y = layout{length: n, count: int(window / n)}
		if kind == "bucket" {
			y.count++
		}
	}
	if align != core.Staggered.String() && align != core.Clock.String() {
		return layout{} // first-hit windows have no numbers
	}
	if y.count > 1 {
		y.ahead = min(1+int(skew/y.length), maxAhead)
	}
	return y
}

// Where what others charged in earlier sub-windows counts, so does what they
// charged in a later one: theirs is the clock that is ahead, and the cell's clock
// never goes back. Sub-windows are looked at that far ahead, but for the last of
// very short ones.
const (
	skew     = 5e6 // microseconds
	maxAhead = 8
)

// number is that of the sub-window which now lies in.
func (y layout) number(now, phase int64) int64 {
	now -= phase
	n := now / y.length
	if now%y.length < 0 {
		n--
	}
	return n
}

// end is the end of the sub-window of that number.
func (y layout) end(number, phase int64) int64 { return (number+1)*y.length + phase }

// numbered is the number of the sub-window with that end.
func (y layout) numbered(end, phase int64) (number int64, ok bool) {
	number = y.number(end, phase) - 1
	return number, y.end(number, phase) == end
}

// gone is the instant from which on nobody looks at the counter of that number.
func (y layout) gone(number, phase int64) int64 {
	return y.end(number+int64(y.count)-1, phase)
}

// empty makes the state of no units at all the fresh one: all zero.
func (y layout) empty(s core.State) core.State {
	for _, units := range s[1:] {
		if units != 0 {
			return s
		}
	}
	s[0] = 0
	return s
}
