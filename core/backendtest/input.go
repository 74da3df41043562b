package backendtest

import (
	"context"
	"errors"
	"time"

	"github.com/stint-go/stint/core"
)

// badInput: each piece of bad input alone, and beside good asks of its decision.
func badInput(s *suite) {
	l := s.limit(stranger, 5, time.Minute)
	good, beside := l.ask("good", 1), l.ask("beside", 1)
	for name, bad := range map[string]core.Ask{
		"a negative cost": cost(-1, l.ask("bad", 1)),
		"a nil rule":      under(nil, l.ask("bad", 1)),
		"a nil space":     within(nil, l.ask("bad", 1)),
	} {
		s.refused(name, 1, bad)
		s.refused(name, 2, good, bad)
		s.refused(name, 2, bad, good)
		s.refused(name, 2, soft(bad), beside)
		s.refused(name, 3, group(1, good), group(1, bad), group(2, beside))
		s.fails("Settle with "+name, func() error {
			return s.backend.Settle(context.Background(), epoch, []core.Ask{bad}, make([]core.Receipt, 1), []int64{1})
		})
	}
	s.refused("no asks", 0)
	s.refused("no asks and a verdict", 1)
	s.refused("fewer verdicts than asks", 1, good, beside)
	s.refused("no verdicts", 0, good)
	s.refused("more verdicts than asks", 2, good)
	for _, n := range [][2]int{{0, 1}, {1, 0}, {2, 1}, {1, 2}} {
		s.fails("Settle with lists of different lengths", func() error {
			return s.backend.Settle(context.Background(), epoch, []core.Ask{good}, make([]core.Receipt, n[0]), make([]int64, n[1]))
		})
	}
	h := s.history()
	h.take(0, "o", peek(l.ask("bad", 5)))
	h.take(0, "o", peek(l.ask("good", 5)))
}

// refused asks for what must not be decided: the call fails, or the bad ask has
// an error. Whatever is hard in its decision stays uncharged.
func (s *suite) refused(what string, verdicts int, asks ...core.Ask) {
	s.Helper()
	out := make([]core.Verdict, verdicts)
	panicked, err := s.guard(func() error {
		_, err := s.backend.Take(context.Background(), epoch, asks, out)
		return err
	})
	if panicked != nil {
		s.Errorf("%s: Take panicked: %v", what, panicked)
	}
	if err != nil || panicked != nil {
		return
	}
	found := false
	for i := range min(len(out), len(asks)) {
		found = found || out[i].Err != nil && !out[i].OK
	}
	if !found {
		s.Errorf("%s: no error", what)
	}
}

func (s *suite) fails(what string, f func() error) {
	s.Helper()
	if panicked, err := s.guard(f); err == nil {
		s.Errorf("%s: no error (panic: %v)", what, panicked)
	}
}

func (s *suite) guard(f func() error) (panicked any, err error) {
	defer func() { panicked = recover() }()
	return nil, f()
}

func growingRefused(s *suite) {
	if !s.NoGrowing {
		s.Skip("the backend declares no lack")
	}
	fixed := s.limit(stranger, 1, time.Minute)
	for _, st := range strategies {
		l := s.limit(st, 3, time.Minute)
		if l.rule.Words() != 0 {
			continue
		}
		out, _, err := s.try(epoch, fixed.ask("k", 1), l.ask("k", 1))
		if err == nil {
			err = out[1].Err
		}
		if !errors.Is(err, core.ErrUnsupported) {
			s.Errorf("%s: declared to be refused, but the error is %v", st.name, err)
		}
	}
	s.history().take(0, "+", fixed.ask("k", 1))
}
