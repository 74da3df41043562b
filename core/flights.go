package core

import (
	"sync"
	"sync/atomic"
)

// flights are the requests that a Limiter is deciding or has decided and whose
// handlers still run, by their tokens. It answers one question: has this Limiter
// met this request before? A mark in the framework's context would cost several
// times as much as the decision.
type flights struct {
	slots    [512]atomic.Uintptr
	crowded  atomic.Int64 // tokens in overflow
	overflow sync.Map     // tokens whose slot was taken by another request
}

// enter reports whether the token is new. Calls for one token come from one
// request, one after the other, so only different tokens race.
func (f *flights) enter(token uintptr) bool {
	if token == 0 {
		return true
	}
	s := f.slot(token)
	if s.Load() == token {
		return false
	}
	if f.crowded.Load() > 0 {
		if _, known := f.overflow.Load(token); known {
			return false
		}
	}
	if !s.CompareAndSwap(0, token) {
		f.overflow.Store(token, nil)
		f.crowded.Add(1)
	}
	return true
}

// leave forgets a token that enter has admitted.
func (f *flights) leave(token uintptr) {
	if token == 0 {
		return
	}
	if f.slot(token).CompareAndSwap(token, 0) {
		return
	}
	if _, known := f.overflow.LoadAndDelete(token); known {
		f.crowded.Add(-1)
	}
}

func (f *flights) slot(token uintptr) *atomic.Uintptr {
	return &f.slots[uint64(token)*0x9e3779b97f4a7c15>>55]
}
