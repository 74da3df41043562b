package memcachedlimit

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stint-go/stint/core"
)

func TestWrongOptions(t *testing.T) {
	_, err := New([]string{"localhost", ":11211", "localhost:", "fine:11211"}, Options{Timeout: -1, MaxIdleConns: -1})
	for _, want := range []string{`"localhost"`, `":11211"`, `"localhost:"`, "timeout -1ns", "-1 idle"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %s in: %v", want, err)
		}
	}
	if _, err := New(nil, Options{}); err == nil {
		t.Error("no servers are no error")
	}
	if _, err := NewFromSelector(nil, Options{}); err == nil {
		t.Error("no selector is no error")
	}
	none, err := NewFromSelector(new(memcache.ServerList), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := take(none, 0, asking(t, core.GCRA{}, 1, time.Minute)); !errors.Is(err, ErrConfig) {
		t.Errorf("a selector without servers: %v", err)
	}
}

// A log that may not fit an item is refused before anything is charged.
func TestLogsThatDoNotFitAnItem(t *testing.T) {
	b := on(t, shared.single())
	s := core.MovingWindow{Max: 1_000_000}
	beside, tooLong := asking(t, core.FixedWindow{}, 5, time.Hour), asking(t, s, maxLog+1, time.Hour)
	out := make([]core.Verdict, 2)
	if _, err := b.Take(t.Context(), 0, []core.Ask{beside, tooLong}, out); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(out[1].Err, core.ErrUnsupported) || !strings.Contains(out[1].Err.Error(), "use at most 29411") {
		t.Errorf("error %v", out[1].Err)
	}
	if out[0].Charged || units(t, b, 0, beside) != 0 {
		t.Error("what stood beside it was charged")
	}
	// The longest that is taken fits, whatever it holds.
	const at = 9_007_000_000_000_000 // 16 digits
	a := asking(t, s, maxLog, time.Hour)
	pairs := make([]int64, 0, 2*maxLog)
	for i := range int64(maxLog) {
		pairs = append(pairs, at+i, core.MaxLimit)
	}
	if n := len(appendState(nil, a.Rule, core.LogState(pairs))); n > maxValue {
		t.Errorf("a log of %d takes %d bytes", maxLog, n)
	}
	full := a
	full.Cost = maxLog
	if v, err := take(b, at, full); err != nil || !v.OK {
		t.Error(v, err)
	}
}

// What the shape says of a cell is what the rule says.
func TestLayouts(t *testing.T) {
	for _, align := range []core.Align{core.Staggered, core.Clock} {
		for _, s := range []core.Strategy{
			core.FixedWindow{Align: align}, core.SlidingWindow{Align: align},
			core.BucketedWindow{Align: align}, core.BucketedWindow{Align: align, Inclusive: true},
			core.BucketedWindow{Align: align, Precision: time.Hour},
			core.BucketedWindow{Align: align, Precision: time.Hour, Inclusive: true},
			core.BucketedWindow{Align: align, Precision: 30 * time.Second},
			core.BucketedWindow{Align: align, Precision: 20 * time.Second},
		} {
			a := asking(t, s, 5, time.Hour)
			y, p := layoutOf(a.Rule, a.Cell.Space), a.Rule.(core.Programmed).Program()
			if y.count+1 != a.Rule.Words() && !(y.count == 0 && p.Counters > maxCounters) {
				t.Errorf("%+v is kept as %+v", s, y)
			}
			if p.Precision > 0 && y.count > 0 && y.length != p.Precision {
				t.Errorf("%+v is kept as %+v", s, y)
			}
		}
	}
	for _, s := range swapped {
		a := asking(t, s, 5, time.Hour)
		if y := layoutOf(a.Rule, a.Cell.Space); y.count != 0 {
			t.Errorf("%+v is kept as %+v", s, y)
		}
	}
}

// Reset finds what is there by the process's clock.
func TestResetOfTheOwnClock(t *testing.T) {
	b := on(t, shared.three()...)
	for _, s := range all {
		a := asking(t, s, 3, time.Hour)
		a.Cost = 3
		for range 3 {
			if v, err := take(b, 0, a); err != nil || !v.OK {
				t.Fatalf("%+v: %+v %v", s, v, err)
			}
			if err := b.Reset(t.Context(), a.Cell); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A server may listen on a Unix socket.
func TestUnixSocket(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "memcached"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // carries one connection after the other to the server
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", shared.single().Addr())
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(server, client); server.Close() }()
			go func() { _, _ = io.Copy(client, server); client.Close() }()
		}
	}()
	b := dialling(t, patient, l.Addr().String())
	a := asking(t, core.GCRA{}, 2, time.Hour)
	for i, want := range []bool{true, true, false} {
		if v, err := take(b, 0, a); err != nil || v.OK != want {
			t.Errorf("call %d: %+v %v", i, v, err)
		}
	}
}
