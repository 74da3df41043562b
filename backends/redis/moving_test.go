package redislimit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stint-go/stint/core"
)

// The sums in a log would pass 2^53 after centuries. They start again instead.
func TestSumsOfALogStartAgain(t *testing.T) {
	s := shared.single()
	b := on(t, s)
	rule, err := core.MovingWindow{}.Bind(core.Rate{Limit: 10, Window: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	space := core.NewSpace("sums", time.Minute.Microseconds(), rule.Shape(), nil, nil)
	ask := core.Ask{Cell: core.Cell{Space: space, Key: core.NewKey("k", "sums")}, Rule: rule, Cost: 1}
	name, _ := cellName(&ask.Cell, true)
	const at, near = 1_700_000_000_000_000, maxWord - 3
	t.Cleanup(func() { _ = b.Reset(context.Background(), ask.Cell) })
	s.Do("RPUSH", name, "0", fmt.Sprint(int64(near)), fmt.Sprint(at), fmt.Sprint(int64(near+2)))
	s.Do("PEXPIRE", name, "3600000")
	for i := range int64(8) {
		v, err := take(b, at+1+i/2, ask) // of two at one instant, one passes 2^53
		if err != nil || !v.OK || v.Remaining != 7-i {
			t.Fatalf("charge %d: %+v, %v", i, v, err)
		}
	}
	if v, err := take(b, at+9, ask); err != nil || v.OK {
		t.Fatalf("one too many: %+v, %v", v, err)
	}
	want := []string{"0", "0", fmt.Sprint(at), "2", fmt.Sprint(at + 1), "4", fmt.Sprint(at + 2), "6", fmt.Sprint(at + 3), "8", fmt.Sprint(at + 4), "10"}
	if got := strings.Fields(s.Do("LRANGE", name, "0", "-1")); !slices.Equal(got, want) {
		t.Errorf("the log is %v, want %v", got, want)
	}
}

// take is a Take of one ask.
func take(b *Backend, at int64, ask core.Ask) (core.Verdict, error) {
	out := make([]core.Verdict, 1)
	_, err := b.Take(context.Background(), at, []core.Ask{ask}, out)
	if err == nil {
		err = out[0].Err
	}
	return out[0], err
}
