package a

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
)

func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour)
	})
}

func TestOther(t *testing.T) {
	if t.Skipped() {
		t.Fatal("skipped")
	}
	var s skipper
	s.Skip()
	_ = json.Valid(nil)
}

type skipper struct{}

func (skipper) Skip() {}
