package core

import "testing"

// Tokens whose slots are taken are remembered elsewhere, and forgotten there.
func TestFlightsRememberCrowdedTokens(t *testing.T) {
	var f flights
	same := []uintptr{}
	for token := uintptr(8); len(same) < 4; token += 8 {
		if f.slot(token) == f.slot(8) {
			same = append(same, token)
		}
	}
	for range 3 {
		for _, token := range same {
			if !f.enter(token) {
				t.Fatalf("token %d is new and was not taken for it", token)
			}
		}
		for _, token := range same {
			if f.enter(token) {
				t.Errorf("token %d was forgotten while in flight", token)
			}
		}
		f.leave(same[0]) // the slot is free again, and the others are elsewhere
		for _, token := range same[1:] {
			if f.enter(token) {
				t.Errorf("token %d was forgotten when another left", token)
			}
			f.leave(token)
		}
		if n := f.crowded.Load(); n != 0 {
			t.Fatalf("%d tokens are left", n)
		}
	}
}
