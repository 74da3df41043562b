package advise

import (
	"time"

	"github.com/stint-go/stint/core"
)

// An Effect is what a limit does to some keys' requests.
type Effect struct {
	Requests, Refused int64
	Keys, RefusedKeys int
}

// Share is the part of the requests that is refused, 0 to 1.
func (e Effect) Share() float64 {
	if e.Requests == 0 {
		return 0
	}
	return float64(e.Refused) / float64(e.Requests)
}

func (e *Effect) add(f Effect) {
	e.Requests += f.Requests
	e.Refused += f.Refused
	e.Keys += f.Keys
	e.RefusedKeys += f.RefusedKeys
}

// effect puts the requests of keys to a rate, by the library's own rules. Keys
// share nothing, so each is decided by itself.
func effect(s core.Strategy, limit int64, window time.Duration, keys []Peak) (e Effect, err error) {
	rule, err := s.Bind(core.Rate{Limit: limit, Window: window})
	if err != nil {
		return e, err
	}
	for _, p := range keys {
		e.add(p.Key.decide(rule, window))
	}
	return e, nil
}

func (k *Key) decide(rule core.Rule, window time.Duration) Effect {
	e := Effect{Keys: 1}
	w := window.Microseconds()
	phase := int64(k.phase % uint64(w))
	var state core.State
	if n := rule.Words(); n > 0 {
		state = make(core.State, n)
	}
	for _, u := range k.Uses {
		e.Requests++
		at := u.At + w // rules want instants above 0; a window later, all is the same
		if rule.Decide(state, at, phase, u.Units).OK {
			state, _ = rule.Charge(state, at, phase, u.Units)
		} else {
			e.Refused++
		}
	}
	if e.Refused > 0 {
		e.RefusedKeys = 1
	}
	return e
}
