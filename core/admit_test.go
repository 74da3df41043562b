package core

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Whatever became of a cell, Admit does to it what Decide, Charge and Until do,
// or nothing at all; and FiguresOf says of it what Decide said.
func TestAdmitIsDecideAndCharge(t *testing.T) {
	rates := []Rate{per(5, time.Second), per(7, time.Second), per(3, time.Minute), per(0, time.Second)}
	for name, s := range strategies {
		t.Run(name, func(t *testing.T) {
			done := 0
			for i, rate := range rates {
				r := rand.New(rand.NewPCG(uint64(i), 1))
				c := newCounter(t, s, rate)
				c.phase = 123_456
				last := Receipt{}
				for now := epoch; now < epoch+200*sec; now += r.Int64N(sec) * r.Int64N(2) {
					cost := 1 + r.Int64N(6)
					// As stores keep it: any number of trailing zeros left out.
					short := slices.Clone(c.state)
					for len(short) > 1 && short[len(short)-1] == 0 && r.IntN(3) > 0 {
						short = short[:len(short)-1]
					}
					was, at := slices.Clone(short), now-r.Int64N(3)*sec/2
					if r.IntN(8) == 0 && len(short) > 0 && short[0] > 0 {
						at = short[0] // on the edge: the end of a window, or the TAT but for its fraction
					}
					step := Admit(c.rule, short, at, c.phase, cost)
					j := c.rule.Decide(c.state, at, c.phase, cost)
					switch {
					case !step.Done:
						if !slices.Equal(short, was) {
							t.Fatalf("declined, and %v has become %v", was, short)
						}
					case step.OK != j.OK:
						t.Fatalf("%v at %d, cost %d: OK %v, Decide %+v", was, at, cost, step.OK, j)
					default:
						done++
						if f := FiguresOf(c.rule, short, at, c.phase, cost, step.OK); f != j.Figures() {
							t.Fatalf("%v, now %v, at %d, cost %d: %+v, Decide %+v", was, short, at, cost, f, j)
						}
						if full := j.OK && j.Remaining == 0 && j.ResetAfter > 0 || !j.OK && j.RetryAfter != Forever; step.Full != full {
							t.Fatalf("%v at %d, cost %d: Full %v, Decide %+v", was, at, cost, step.Full, j)
						}
					}
					if j.OK {
						c.state, last = c.rule.Charge(c.state, at, c.phase, cost)
					}
					if step.Done {
						if want := c.state[:len(short)]; !slices.Equal(short, want) || slices.ContainsFunc(c.state[len(short):], func(w int64) bool { return w != 0 }) {
							t.Fatalf("%v at %d, cost %d: %v, Charge %v", was, at, cost, short, c.state)
						}
						if until := c.rule.Until(c.state); step.OK && step.Until != until {
							t.Fatalf("%v: Until %d, want %d", short, step.Until, until)
						}
					}
					switch r.IntN(40) {
					case 0:
						c.state = c.rule.Settle(c.state, at, c.phase, last, -1)
					case 1:
						c.state = c.rule.Settle(c.state, at, c.phase, Receipt{}, 2)
					case 2:
						c.state = make(State, c.rule.Words())
					}
				}
			}
			switch s.(type) {
			case GCRA, SlidingWindow, FixedWindow:
				if done < 500 {
					t.Errorf("only %d steps were not declined", done)
				}
			default:
				if done > 0 {
					t.Error("an unknown rule was not declined")
				}
			}
		})
	}
}
