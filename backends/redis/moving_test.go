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

// So they do where a debt is what would make them pass.
func TestSumsOfALogStartAgainForADebt(t *testing.T) {
	s := shared.single()
	b := on(t, s)
	const at, near, minute = 1_700_000_000_000_000, maxWord - 3, 60_000_000
	for name, c := range map[string]struct {
		at, debt int64
		want     []int64 // pairs
	}{
		"of a log that counts":        {at + 1, 5, []int64{at, 2, at + 1, 5}},
		"as large as may be":          {at + 1, core.MaxCount, []int64{at, 2, at + 1, core.MaxCount - 2}},
		"of a log that has passed":    {at + 2*minute, 5, []int64{at + 2*minute, 5}},
		"of one that has, very large": {at + 2*minute, core.MaxCount, []int64{at + 2*minute, core.MaxCount}},
	} {
		ask := asking(t, core.MovingWindow{}, 10, time.Minute)
		key, _ := cellName(&ask.Cell, true)
		s.Do("RPUSH", key, "0", fmt.Sprint(int64(near)), fmt.Sprint(int64(at)), fmt.Sprint(int64(near+2)))
		s.Do("PEXPIRE", key, "3600000")
		if err := b.Settle(background(), c.at, []core.Ask{ask}, make([]core.Receipt, 1), []int64{c.debt}); err != nil {
			t.Fatal(name, err)
		}
		ts, err := b.targets([]core.Ask{ask}, true)
		if err != nil {
			t.Fatal(err)
		}
		snaps, err := b.read(background(), c.at, ts)
		if err != nil || snaps[0].err != nil || !slices.Equal(core.LogPairs(snaps[0].state), c.want) {
			t.Errorf("%s: the log is %v, want %v; %v", name, core.LogPairs(snaps[0].state), c.want, err)
		}
		s.Do("DEL", key)
	}
}

// Two sums of a log together may pass 2^53 where neither does.
func TestSumsOfALogStayExact(t *testing.T) {
	s := shared.single()
	b := on(t, s)
	const at, sum, limit, over = 1_700_000_000_000_000, int64(4503599629459780), 999_983, 499_992
	ask := asking(t, core.MovingWindow{Max: limit}, limit, 24*time.Hour)
	ask.Cost, ask.When = over, core.Always
	name, _ := cellName(&ask.Cell, true)
	t.Cleanup(func() { _ = b.Reset(background(), ask.Cell) })
	s.Do("RPUSH", name, "0", fmt.Sprint(sum), fmt.Sprint(at), fmt.Sprint(sum+971_129))
	s.Do("PEXPIRE", name, "3600000")
	if _, err := take(b, at+1, ask); err != nil {
		t.Fatal(err)
	}
	first := sum + 971_129 + over - limit // what the units that count begin from
	want := []string{"0", fmt.Sprint(first), fmt.Sprint(at), fmt.Sprint(sum + 971_129), fmt.Sprint(at + 1), fmt.Sprint(first + limit)}
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
