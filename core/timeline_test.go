package core

import (
	"testing"
	"time"
)

// A step is one request of a timeline: at so many microseconds since the epoch
// of tests, of that cost.
type step struct {
	at, cost int64
	want     bool
	remain   int64
	retry    int64 // of a refusal
}

const (
	ok   = true
	deny = false
)

// run replays a timeline with phase 0.
func run(t *testing.T, s Strategy, r Rate, when When, steps []step) {
	t.Helper()
	c := newCounter(t, s, r)
	for i, st := range steps {
		c.reclaim(epoch + st.at)
		v := c.take(epoch+st.at, st.cost, when)
		remain := c.peek(epoch+st.at, 0).Remaining
		if v.OK != st.want || remain != st.remain || v.RetryAfter != st.retry {
			t.Errorf("step %d %+v: %+v, then %d remain", i, st, v, remain)
		}
	}
}

func TestFixedWindowTimelines(t *testing.T) {
	t.Run("doubles at the edge and no more", func(t *testing.T) {
		run(t, FixedWindow{}, per(2, time.Second), OnAdmit, []step{
			{sec - 1, 2, ok, 0, 0},
			{sec - 1, 1, deny, 0, 1},
			{sec, 1, ok, 1, 0}, // half-open: the end belongs to the next window
			{sec, 1, ok, 0, 0},
			{sec + 1, 1, deny, 0, sec - 1},
			{sec + 1, 3, deny, 0, Forever},
		})
	})
	t.Run("begins with the first hit", func(t *testing.T) { // limits: 10 per minute from 00:00:45
		run(t, FixedWindow{Align: FirstHit}, per(10, time.Minute), OnAdmit, []step{
			{45 * sec, 1, ok, 9, 0},
			{60 * sec, 9, ok, 0, 0},
			{100 * sec, 1, deny, 0, 5 * sec},
			{105 * sec, 1, ok, 9, 0},
		})
	})
	t.Run("counts what it refuses", func(t *testing.T) {
		run(t, FixedWindow{Align: Clock}, per(5, time.Minute), Always, []step{
			{0, 6, deny, 0, Forever}, // dear, but no dearer than being full
			{sec, 1, deny, 0, 59 * sec},
			{60 * sec, 5, ok, 0, 0},
		})
	})
}

func TestFixedWindowOpenerRefunded(t *testing.T) {
	c := newCounter(t, FixedWindow{Align: FirstHit}, per(3, 10*time.Second))
	opener := c.take(epoch, 1, OnAdmit)
	c.take(epoch+4*sec, 1, OnAdmit)
	c.settle(epoch+6*sec, opener.Receipt, -1)
	// Without the opener the window would have ended at 14 s; 16 s is after that.
	if v := c.peek(epoch+6*sec, 3); v.OK || v.Remaining != 2 || v.RetryAfter != 10*sec {
		t.Errorf("%+v", v)
	}
	c = newCounter(t, FixedWindow{Align: FirstHit}, per(3, 10*time.Second))
	opener = c.take(epoch, 2, OnAdmit)
	c.take(epoch+4*sec, 1, OnAdmit)
	c.settle(epoch+6*sec, opener.Receipt, -1) // in part: the window stays
	if v := c.peek(epoch+6*sec, 3); v.OK || v.Remaining != 1 || v.RetryAfter != 4*sec {
		t.Errorf("%+v", v)
	}
}

func TestBucketedWindowTimelines(t *testing.T) {
	minute := 60 * sec
	t.Run("current and earlier minutes", func(t *testing.T) { // the cache class: 4 counters for 3 minutes
		s := BucketedWindow{Precision: time.Minute, Align: Clock}
		run(t, s, per(3, 3*time.Minute), OnAdmit, []step{
			{minute / 2, 3, ok, 0, 0},
			{3*minute + minute/2, 1, deny, 0, minute / 2}, // W later: a minute not over yet
			{4*minute - 1, 1, deny, 0, 1},
			{4 * minute, 1, ok, 2, 0},
		})
	})
	t.Run("precision of dr-josiah", func(t *testing.T) { // 240 per hour, by the minute
		run(t, BucketedWindow{Inclusive: true, Align: Clock}, Rate{240, time.Hour, time.Minute}, OnAdmit, []step{
			{0, 100, ok, 140, 0},
			{59 * sec, 100, ok, 40, 0},
			{60 * sec, 40, ok, 0, 0},
			{3600*sec - 1, 1, deny, 0, 1},
			{3600 * sec, 200, ok, 0, 0}, // those of 59 s are gone after 3541 s
			{3600 * sec, 1, deny, 0, 60 * sec},
		})
	})
	t.Run("refused requests keep the door shut", func(t *testing.T) {
		s := BucketedWindow{Precision: time.Minute, Align: Clock}
		run(t, s, per(2, time.Minute), Always, []step{
			{0, 2, ok, 0, 0},
			{minute, 1, deny, 0, minute},
			{2 * minute, 1, ok, 0, 0},
			{3 * minute, 2, deny, 0, minute}, // one would fit, and still this fills the minute
			{4 * minute, 1, deny, 0, minute},
			{6 * minute, 2, ok, 0, 0},
		})
	})
}

func TestSlidingWindowTimelines(t *testing.T) {
	// limits: 40 in the minute before, 80 in this one, 30 s of it gone: 100 of 100.
	run(t, SlidingWindow{Align: Clock}, per(100, time.Minute), OnAdmit, []step{
		{0, 40, ok, 60, 0},
		{60 * sec, 60, ok, 0, 0},
		{90 * sec, 20, ok, 0, 0},
		{90 * sec, 1, deny, 0, 1},    // 20 weigh 20 for this microsecond only
		{100 * sec, 1, ok, 6, 0},     // floor(13.33) + 81
		{119_999_999, 6, ok, 13, 0},  // floor(0.0000007) + 87
		{120 * sec, 14, deny, 13, 1}, // the window turned: all 87 weigh in full
	})
}

func TestMovingWindowTimelines(t *testing.T) {
	// limits: 10 per minute; at 00:01:11 the tenth newest is 61 s old.
	run(t, MovingWindow{}, per(10, time.Minute), OnAdmit, []step{
		{10 * sec, 1, ok, 9, 0},
		{20 * sec, 9, ok, 0, 0},
		{70*sec - 1, 1, deny, 0, 1},
		{71 * sec, 1, ok, 0, 0},
		{72 * sec, 1, deny, 0, 8 * sec},
		{80 * sec, 9, ok, 0, 0}, // exactly one window old is gone
	})
	run(t, MovingWindow{}, per(3, time.Minute), Always, []step{
		{0, 2, ok, 1, 0},
		{sec, 2, deny, 0, 59 * sec}, // drops the older two but one
		{60 * sec, 1, ok, 0, 0},
		{60 * sec, 3, deny, 0, 60 * sec},
	})
}

func TestGCRATimelines(t *testing.T) {
	run(t, GCRA{}, per(2, time.Second), OnAdmit, []step{
		{0, 1, ok, 1, 0},
		{0, 1, ok, 0, 0},
		{0, 1, deny, 0, 500 * ms},
		{500*ms - 1, 1, deny, 0, 1},
		{500 * ms, 1, ok, 0, 0},
		{2 * sec, 2, ok, 0, 0},
		{2 * sec, 3, deny, 0, Forever},
	})
	t.Run("thirds are exact", func(t *testing.T) { // throttled truncates, and drifts
		run(t, GCRA{Burst: 1}, per(3, time.Second), OnAdmit, []step{
			{0, 1, ok, 0, 0},
			{333_333, 1, deny, 0, 1},
			{333_334, 1, ok, 0, 0}, // the third began at 333,333 1/3: lateness is not carried on
			{666_667, 1, deny, 0, 1},
			{666_668, 1, ok, 0, 0},
		})
		run(t, GCRA{Burst: 3}, per(3, time.Second), OnAdmit, []step{
			{0, 3, ok, 0, 0},
			{333_333, 1, deny, 0, 1},
			{333_334, 1, ok, 0, 0},
			{666_666, 1, deny, 0, 1},
			{666_667, 1, ok, 0, 0},
			{1_000_000, 1, ok, 0, 0}, // three thirds are one
		})
	})
	t.Run("a whole burst, then the rate", func(t *testing.T) {
		run(t, GCRA{Burst: 5}, per(1, time.Second), OnAdmit, []step{
			{0, 5, ok, 0, 0},
			{sec, 1, ok, 0, 0},
			{sec + 1, 1, deny, 0, sec - 1},
			{3 * sec, 2, ok, 0, 0},
		})
	})
	t.Run("refusals fill up and never more", func(t *testing.T) {
		run(t, GCRA{Burst: 2}, per(1, time.Second), Always, []step{
			{0, 1, ok, 1, 0},
			{0, 9, deny, 0, Forever},
			{500 * ms, 1, deny, 0, 500 * ms},
			{sec, 1, deny, 0, 500 * ms},
			{2500 * ms, 1, ok, 0, 0},
		})
	})
}

func TestGCRARefundBehindOthers(t *testing.T) {
	c := newCounter(t, GCRA{}, per(10, 10*time.Second)) // a unit per second
	a := c.take(epoch, 4, OnAdmit)
	c.take(epoch, 4, OnAdmit)
	// At 3 s three units of a are worked off, and one is given back.
	c.settle(epoch+3*sec, a.Receipt, -4)
	if v := c.peek(epoch+3*sec, 0); v.Remaining != 6 || v.ResetAfter != 4*sec {
		t.Errorf("%+v", v)
	}
	if c.state[2] != sec || c.state[3] != epoch+8*sec {
		t.Errorf("refunded %d µs, latest end %d", c.state[2], c.state[3]-epoch)
	}
	c.take(epoch+8*sec, 1, OnAdmit)
	if c.state[2]|c.state[3] != 0 {
		t.Errorf("idle, and still %v", c.state)
	}
}
