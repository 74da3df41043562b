package core

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestBindRefuses(t *testing.T) {
	year := 366 * 24 * time.Hour
	for _, c := range []struct {
		strategy Strategy
		rate     Rate
		want     string // in the error; "" for none
	}{
		{FixedWindow{}, per(0, time.Millisecond), ""},
		{FixedWindow{}, per(MaxLimit, year), ""},
		{FixedWindow{}, per(-1, time.Second), "limit -1"},
		{FixedWindow{}, per(MaxLimit+1, time.Second), "limit 2147483649"},
		{FixedWindow{}, per(1, 0), "window 0s"},
		{FixedWindow{}, per(1, time.Millisecond-1), "window 999.999µs"},
		{FixedWindow{}, per(1, year+1), "out of range"},
		{FixedWindow{}, per(1, time.Second+1), "whole number"},
		{FixedWindow{}, Rate{-1, -1, 1}, "precision 1ns"}, // and the other two, see below
		{FixedWindow{Align: 3}, per(1, time.Second), "alignment 3"},
		{SlidingWindow{}, Rate{1, time.Second, time.Millisecond}, "precision 1ms"},
		{SlidingWindow{Align: FirstHit}, per(1, time.Second), "alignment first"},
		{BucketedWindow{Align: FirstHit}, per(1, time.Second), "alignment first"},
		{BucketedWindow{Precision: 300 * time.Millisecond}, per(1, time.Second), "does not divide"},
		{BucketedWindow{Precision: time.Millisecond}, per(1, 4096*time.Millisecond), ""},
		{BucketedWindow{Precision: time.Millisecond}, per(1, 4097*time.Millisecond), "4097 sub-windows"},
		{BucketedWindow{Precision: 500}, per(1, time.Millisecond), "whole number"},
		{BucketedWindow{Precision: -1}, per(1, time.Second), "negative"},
		{BucketedWindow{Precision: 3 * time.Hour}, per(1, time.Second), ""},
		{MovingWindow{}, per(10_000, time.Second), ""},
		{MovingWindow{}, per(10_001, time.Second), "raise Max"},
		{MovingWindow{Max: 10_001}, per(10_001, time.Second), ""},
		{MovingWindow{Max: ringMax + 1}, per(1, time.Second), "maximum"},
		{GCRA{Burst: -1}, per(1, time.Second), "burst -1"},
		{GCRA{Burst: MaxLimit + 1}, per(1, time.Second), "burst 2147483649"},
		{GCRA{Burst: 71}, per(1, year), ""},
		{GCRA{Burst: 72}, per(1, year), "71 years"},
	} {
		_, err := c.strategy.Bind(c.rate)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v %+v: %v, want %q", c.strategy, c.rate, err, c.want)
		}
	}
	_, err := FixedWindow{}.Bind(Rate{-1, -1, 1})
	if n := strings.Count(fmt.Sprint(err), "stint: fixed-window: "); n != 3 {
		t.Errorf("%d complaints, want 3: %v", n, err)
	}
}

func TestShapes(t *testing.T) {
	year := 366 * 24 * time.Hour
	seen := map[string]string{}
	for _, c := range []struct {
		name, shape string
		strategy    Strategy
		words       int
	}{
		{"fixed-window", "fixed-staggered", FixedWindow{}, 2},
		{"fixed-window", "fixed-clock", FixedWindow{Align: Clock}, 2},
		{"fixed-window", "fixed-first", FixedWindow{Align: FirstHit}, 2},
		{"bucketed-window", "bucket-3162240000000-staggered", BucketedWindow{}, 12},
		{"bucketed-window", "bucketi-3162240000000-clock", BucketedWindow{Inclusive: true, Align: Clock}, 11},
		{"bucketed-window", "bucketi-31622400000000-staggered", BucketedWindow{Inclusive: true, Precision: year}, 2},
		{"sliding-window", "sliding-staggered", SlidingWindow{}, 3},
		{"sliding-window", "sliding-clock", SlidingWindow{Align: Clock}, 3},
		{"moving-window", "moving", MovingWindow{}, 0},
		{"gcra", "gcra", GCRA{Burst: 3}, 4},
	} {
		r := newCounter(t, c.strategy, per(5, year)).rule
		if c.strategy.Name() != c.name || r.Shape() != c.shape || r.Words() != c.words || len(r.Shape()) > 32 {
			t.Errorf("%+v: %s, %s, %d words", c.strategy, c.strategy.Name(), r.Shape(), r.Words())
		}
		if other, taken := seen[c.shape]; taken {
			t.Errorf("%s is the shape of %s and %s", c.shape, other, c.name)
		}
		seen[c.shape] = c.name
	}
}

func TestQuotas(t *testing.T) {
	for _, c := range []struct {
		strategy      Strategy
		limit         int64
		units, window int64
	}{
		{FixedWindow{}, 5, 5, sec},
		{BucketedWindow{}, 5, 5, sec},
		{GCRA{}, 5, 5, sec},
		{GCRA{Burst: 2}, 3, 2, 666_667},
		{GCRA{Burst: 7}, 1, 7, 7 * sec},
	} {
		if units, window := newCounter(t, c.strategy, per(c.limit, time.Second)).rule.Quota(); units != c.units || window != c.window {
			t.Errorf("%+v: %d per %d µs, want %d per %d", c.strategy, units, window, c.units, c.window)
		}
	}
}

// The precision of the rate goes before that of the strategy, and one above the
// window is the window.
func TestPrecision(t *testing.T) {
	for _, c := range []struct {
		strategy, rate, window, want time.Duration
	}{
		{0, 0, 10 * time.Second, time.Second},
		{0, 0, 7 * time.Second, 700 * time.Millisecond},
		{0, 0, 1001 * time.Microsecond, 143 * time.Microsecond}, // 7 divides it, 8, 9 and 10 do not
		{0, 0, 7919 * time.Microsecond, 7919 * time.Microsecond},
		{time.Minute, 0, time.Hour, time.Minute},
		{time.Minute, time.Second, time.Hour, time.Second},
		{0, 2 * time.Hour, time.Hour, time.Hour},
	} {
		got := newCounter(t, BucketedWindow{Precision: c.strategy}, Rate{1, c.window, c.rate}).rule.(*bucketRule).precision
		if got != c.want.Microseconds() {
			t.Errorf("%+v: %d µs", c, got)
		}
	}
}
