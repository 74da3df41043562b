package core

// A ring is an open State of MovingWindow: a log of entries, oldest first, in a
// circular buffer that doubles. Its words are head<<ringBits | number of
// entries, the sum of all units, and then capacity pairs of a stamp and its
// units (>= 1). Stamps rise strictly.
type ring struct {
	s        State
	head, n  int
	capacity int
	units    int64
}

const (
	ringBits = 26 // so that the first word stays below 2^53
	ringMax  = 1<<ringBits - 1
	ringMin  = 4
)

// openRing reads the header; nil is the empty ring. Close writes it back.
func openRing(s State) ring {
	if len(s) < 2 {
		return ring{}
	}
	return ring{s: s, head: int(s[0] >> ringBits), n: int(s[0] & ringMax), capacity: len(s)/2 - 1, units: s[1]}
}

// close is the state of the ring, nil when it is empty.
func (g *ring) close() State {
	if g.n == 0 {
		return nil
	}
	g.s[0], g.s[1] = int64(g.head)<<ringBits|int64(g.n), g.units
	return g.s
}

// word is where entry i begins.
func (g *ring) word(i int) int {
	if i += g.head; i >= g.capacity {
		i -= g.capacity
	}
	return 2 + 2*i
}

func (g *ring) stamp(i int) int64    { return g.s[g.word(i)] }
func (g *ring) unitsAt(i int) *int64 { return &g.s[g.word(i)+1] }

// newestOf is the stamp up to which need units have been charged, counted from
// entry i on.
func (g *ring) newestOf(i int, need int64) int64 {
	for ; i < g.n-1; i++ {
		if need -= *g.unitsAt(i); need <= 0 {
			break
		}
	}
	return g.stamp(i)
}

// find is the entry with that stamp.
func (g *ring) find(stamp int64) (i int, ok bool) {
	low, high := 0, g.n
	for low < high {
		if i = (low + high) / 2; g.stamp(i) < stamp {
			low = i + 1
		} else {
			high = i
		}
	}
	return low, low < g.n && g.stamp(low) == stamp
}

// drop forgets the oldest k entries.
func (g *ring) drop(k int) {
	for ; k > 0; k-- {
		g.units -= *g.unitsAt(0)
		g.n--
		if g.head++; g.head == g.capacity {
			g.head = 0
		}
	}
}

// dropUnits forgets the oldest units, or all.
func (g *ring) dropUnits(units int64) {
	for g.n > 0 && *g.unitsAt(0) <= units {
		units -= *g.unitsAt(0)
		g.drop(1)
	}
	if g.n > 0 {
		*g.unitsAt(0) -= units
		g.units -= units
	}
}

// add appends units, at a stamp not before the newest one. It makes room for at
// most limit entries, of which there must be one left.
func (g *ring) add(stamp, units, limit int64) {
	if units == 0 {
		return
	}
	g.units += units
	if g.n > 0 && g.stamp(g.n-1) == stamp {
		*g.unitsAt(g.n - 1) += units
		return
	}
	if g.n == g.capacity {
		g.grow(int(max(1, min(limit, int64(max(ringMin, 2*g.capacity))))))
	}
	w := g.word(g.n)
	g.s[w], g.s[w+1] = stamp, units
	g.n++
}

func (g *ring) grow(capacity int) {
	s := make(State, 2+2*capacity)
	for i := range g.n {
		s[2+2*i], s[3+2*i] = g.stamp(i), *g.unitsAt(i)
	}
	g.s, g.head, g.capacity = s, 0, capacity
}

// take removes units from entry i, and the entry with its last unit.
func (g *ring) take(i int, units int64) {
	g.units -= units
	if *g.unitsAt(i) -= units; *g.unitsAt(i) > 0 {
		return
	}
	for ; i < g.n-1; i++ {
		to, from := g.word(i), g.word(i+1)
		g.s[to], g.s[to+1] = g.s[from], g.s[from+1]
	}
	g.n--
}

// restamp moves the newest entry on to a later stamp.
func (g *ring) restamp(stamp int64) { g.s[g.word(g.n-1)] = stamp }
