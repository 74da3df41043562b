package backendtest

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/stint-go/stint/core"
)

// stranger is the strategy of checks that need none in particular.
var stranger = strategies[0]

func expiryAndReuse(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	l := s.limit(st, 5, time.Second)
	a, at := l.ask("k", l.quota()), int64(0)
	for range 3 {
		v := h.take(at, "+", a)[0]
		h.take(at, "-", cost(1, a))
		h.take(at+v.ResetAfter-1, "-", a)
		at += v.ResetAfter
	}
	h.take(at, "+", a)
	h.take(at+1000*l.window(), "+", a)
	h.take(at+1000*l.window(), "-", cost(1, a))
}

func resetEmpties(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	l := s.limit(st, 3, time.Minute)
	a, b, c := l.ask("a", l.quota()), l.ask("b", l.quota()), l.ask("c", l.quota())
	h.take(0, "+++", a, b, c)
	h.reset(a.Cell, c.Cell, l.cell("never used"))
	h.take(0, "-", b)
	h.take(0, "++", a, c)

	own := s.limitAt(st, 3, quietWindow(time.Now()), func(core.Cell) int64 { return 0 })
	d := own.ask("own clock", own.quota())
	for round := range 2 {
		if v := s.take(0, d)[0]; !v.OK {
			s.Fatalf("round %d: a cell of the own clock is not empty", round)
		}
		if err := s.backend.Reset(context.Background(), d.Cell); err != nil {
			s.Fatal(err)
		}
	}
}

func changedLimit(s *suite, st strategy) {
	s.skipGrowing(st)
	h := s.history()
	l := s.limit(st, 10, time.Minute)
	a := l.ask("k", 1)
	h.take(0, "+", cost(l.quota(), a))
	for i, n := range []int64{4, 10, 40, 3, 10} {
		rule := s.bind(st, n, time.Minute)
		if rule.Shape() != l.rule.Shape() {
			s.Fatalf("%s: the shape depends on the limit", st.name)
		}
		all, _ := rule.Quota()
		h.take(int64(i), "-", peek(cost(all, under(rule, a))))
		h.follow(int64(i), under(rule, a))
	}
}

func strangersStrategy(s *suite) {
	h := s.history()
	mine := s.limit(stranger, 2, time.Minute)
	asks := []core.Ask{mine.ask("k", 1)}
	for _, st := range strategies[1:] {
		if l := s.limit(st, 5, time.Minute); l.rule.Words() > 0 || !s.NoGrowing {
			asks = append(asks, l.ask("k", 1))
		}
	}
	all := strings.Repeat("+", len(asks))
	h.take(0, all, asks...)
	h.take(1, all, asks...)
	h.take(2, "-"+strings.Repeat("o", len(asks)-1), asks...)
}

// shaped is the stranger's rule under another shape.
type shaped struct {
	core.Rule
	shape string
}

func (r shaped) Shape() string { return r.shape }

func cellsApart(s *suite) {
	l := s.limit(stranger, 1, time.Minute)
	other := s.limit(stranger, 1, time.Hour)
	ask := l.ask("k", 1)
	// None of these is another: same names, other policy, window or shape.
	asks := []core.Ask{ask}
	for _, policy := range []string{freshName(), l.space.Policy() + ":k", l.space.Policy() + "6", strings.ToUpper(l.space.Policy())} {
		asks = append(asks, within(core.NewSpace(policy, l.window(), l.space.Shape(), nil, keyPhase), ask))
	}
	for _, window := range []int64{l.window() / 1000, l.window() + 1, l.window() * 10, l.window() * 11} {
		rule := s.bind(stranger, 1, time.Duration(window)*time.Microsecond)
		asks = append(asks, under(rule, within(core.NewSpace(l.space.Policy(), window, rule.Shape(), nil, keyPhase), ask)))
	}
	for _, shape := range []string{"a", "b", "backendtest-quota-2"} {
		rule := shaped{l.rule, shape}
		asks = append(asks, under(rule, within(core.NewSpace(l.space.Policy(), l.window(), shape, nil, keyPhase), ask)))
	}
	asks = append(asks, other.ask("k", 1))
	for _, k := range differentKeys() {
		asks = append(asks, keyed(k, ask))
	}
	for _, a := range asks {
		s.mu.Lock()
		s.cells = append(s.cells, a.Cell)
		s.mu.Unlock()
	}

	h := s.history()
	for _, a := range asks { // every one is new
		h.take(0, "+", a)
	}
	for _, a := range slices.Backward(asks) { // and every one is remembered
		h.take(0, "-", a)
	}
	h.reset(ask.Cell)
	for _, a := range asks[1:] {
		h.take(0, "-", a)
	}
}

// differentKeys differ in one thing each from some other.
func differentKeys() []core.Key {
	ip := func(p string) core.Key { return core.KeyOfPrefix(netip.MustParsePrefix(p)) }
	long := strings.Repeat("x", 5000)
	keys := []core.Key{
		{}, core.NewKey("", ""), core.NewKey("k", ""), core.NewKey("", "k"),
		core.NewKey("ke", "yk"), core.NewKey("keyk", ""), core.NewKey("key", "K"), core.NewKey("key", "k "),
		core.NewKey("key", "k").With("key", "k"), core.NewKey("key", "k").With("", ""), core.NewKey("", "").With("key", "k"),
		core.NewKey("a", "b").With("c", "d"), core.NewKey("c", "d").With("a", "b"), core.NewKey("a", "b\x00c\x00d"),
		core.NewKey("key", "k\n"), core.NewKey("key", "\x00"), core.NewKey("key", "\xff\xfe"), core.NewKey("key", "{k}"),
		core.NewKey("key", "k:1"), core.NewKey("key", "ключ"), core.NewKey("key", long), core.NewKey("key", long[1:]+"y"),
		core.NewKey("key", long+"y"), core.NewKey("key", "\xfe\xff"),
		core.NewKey("key", "1.2.3.4"), ip("1.2.3.4/32"), ip("1.2.3.0/24"), ip("1.2.0.0/24"), ip("1.2.0.0/16"),
		ip("::102:304/128"), ip("::/0"), ip("0.0.0.0/0"), ip("2001:db8::/64"), ip("2001:db8::/56"), ip("2001:db8:0:1::/64"),
		ip("2001:db8::1/128"), ip("2001:db8:0:1::/64").With("key", "k"),
	}
	for kind := core.KindHeader; kind <= core.KindMissing; kind++ {
		if kind != core.KindExtra { // NewKey's
			keys = append(keys, core.KeyOf(kind, "key", "k"))
		}
	}
	return keys
}

func equalSpaces(s *suite) {
	h := s.history()
	l := s.limit(stranger, 3, time.Minute)
	a := l.ask("k", 1)
	again := func() core.Ask {
		return within(core.NewSpace(strings.Clone(l.space.Policy()), l.window(), l.rule.Shape(), nil, keyPhase), a)
	}
	h.take(0, "+", a)
	h.take(0, "++", group(0, again()), group(1, again()))
	h.take(0, "-", a)
	h.reset(again().Cell)
	h.take(0, "+", a)
}

func keyMemory(s *suite) {
	l := s.limit(stranger, 1, time.Minute)
	for _, k := range []string{"alice", "bobby", "carol"} {
		l.cell(k)
	}
	buf := []byte("alice")
	over := func(text string) core.Ask {
		copy(buf, text)
		return core.Ask{Cell: core.Cell{Space: l.space, Key: core.NewKey("key", unsafe.String(&buf[0], len(buf)))}, Rule: l.rule, Cost: 1}
	}
	admitted := func(what string, want bool, a core.Ask) {
		s.Helper()
		if v := s.take(epoch, a)[0]; v.OK != want {
			s.Fatalf("%s: admitted %v, because a key was kept in the caller's memory", what, v.OK)
		}
	}
	admitted("alice", true, over("alice"))
	admitted("bobby in the memory of alice", true, over("bobby"))
	admitted("alice again", false, over("alice"))
	admitted("bobby again", false, over("bobby"))
	admitted("alice from memory of her own", false, l.ask("alice", 1))
	admitted("bobby from memory of his own", false, l.ask("bobby", 1))

	debt := over("carol")
	if err := s.backend.Settle(context.Background(), epoch, []core.Ask{debt}, make([]core.Receipt, 1), []int64{1}); err != nil {
		s.Fatal(err)
	}
	if err := s.backend.Reset(context.Background(), over("alice").Cell); err != nil {
		s.Fatal(err)
	}
	over("-----")
	admitted("carol in debt", false, l.ask("carol", 1))
	admitted("alice after a reset", true, l.ask("alice", 1))
	admitted("bobby after it", false, l.ask("bobby", 1))
}

func askMemory(s *suite) {
	l := s.limit(stranger, 2, time.Minute)
	for _, asks := range [][]core.Ask{
		{l.ask("a", 1), soft(peek(l.ask("b", 2))), group(3, l.ask("a", 1))},
		{l.ask("c", 2)},
	} {
		before, out := slices.Clone(asks), make([]core.Verdict, len(asks))
		if _, err := s.backend.Take(context.Background(), epoch, asks, out); err != nil {
			s.Fatal(err)
		}
		if !slices.Equal(asks, before) {
			s.Fatalf("Take changed its asks from\n%v to\n%v", before, asks)
		}
		clear(asks)
		if v := s.take(epoch, before[0])[0]; v.OK {
			s.Fatal("an ask counted in a cell that is not its own after the asks were cleared")
		}
	}
}

func phasesSpread(s *suite) {
	const keys = 200
	l := s.limitAt(stranger, 5, time.Hour, nil)
	var tenths [10]int
	for i := range keys {
		a := l.ask("k"+strconv.Itoa(i), 1)
		end := s.take(epoch, a)[0].ResetAfter
		if end <= 0 || end > l.window() {
			s.Fatalf("a window of %dµs ends in %dµs", l.window(), end)
		}
		if again := s.take(epoch+end-1, a)[0].ResetAfter; again != 1 {
			s.Fatalf("the end of a window moved by %dµs", again-1)
		}
		tenths[(end-1)*10/l.window()]++
	}
	if slices.Contains(tenths[:], 0) { // by chance: once in 10^8 runs
		s.Fatalf("of %d keys, windows end in these tenths of the window: %v", keys, tenths)
	}
}

func phaseInjected(s *suite) {
	window := time.Minute.Microseconds()
	for _, phase := range []int64{0, 1, window / 2, window - 1, window, 7*window + 5, -1, -3*window - 5} {
		h := s.history()
		l := s.limitAt(stranger, 5, time.Minute, func(core.Cell) int64 { return phase })
		end := window - (((epoch-phase)%window + window) % window)
		v := h.take(0, "+", l.ask("k", 1))[0]
		if v.ResetAfter != end {
			h.Fatalf("phase %d: the window ends in %dµs and not in %d", phase, v.ResetAfter, end)
		}
		h.take(end-1, "-", l.ask("k", 5))
		h.take(end, "+", l.ask("k", 5))
	}
}
