package core

import (
	"encoding/binary"
	"testing"
	"time"
)

// FuzzStrategies drives every strategy with any sequence of operations, the
// clock going either way. Invariants: words stay within 0 and 2^53-1, figures
// within the quota, looking changes nothing, and what is promised comes true.
func FuzzStrategies(f *testing.F) {
	f.Add(int64(5), int64(1000), []byte("\x00\x01\x02\x03\x04\x05\x06\x07 charges and refunds of all kinds"))
	f.Add(int64(1), int64(MaxWindow), []byte("0000000011111111222222223333333344444444555555556666666677777777"))
	f.Add(int64(MaxLimit), int64(1000), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, limit, window int64, ops []byte) {
		rate := per(mod(limit, MaxLimit+1), time.Duration(1000+mod(window, MaxWindow-999))*time.Microsecond)
		for _, s := range strategies {
			if rule, err := s.Bind(rate); err == nil {
				c := &counter{rule, make(State, rule.Words()), mod(limit, rate.Window.Microseconds())}
				drive(t, c, ops)
			}
		}
	})
}

// drive reads operations of eight bytes: what, a shift, and a number.
func drive(t *testing.T, c *counter, ops []byte) {
	units, window := c.rule.Quota()
	var receipts [4]Receipt
	now := epoch
	for i := 0; len(ops) >= 8; i, ops = i+1, ops[8:] {
		n := int64(binary.LittleEndian.Uint64(ops) >> 1 >> (ops[1] % 63))
		switch ops[0] % 8 {
		case 0, 1, 2:
			now = min(now+n%(2*window), epoch+MaxWindow)
		case 3:
			now = max(now-n%window, epoch)
		case 4:
			receipts[i%4] = c.take(now, n, OnAdmit).Receipt
		case 5:
			receipts[i%4] = c.take(now, n%(units+1), Always).Receipt
		case 6:
			c.settle(now, receipts[n%4], -n)
		case 7:
			c.settle(now, Receipt{}, n)
		}
		cost := n % (units + 2)
		before := c.clone()
		v := c.peek(now, cost)
		within(t, c, v)
		for i, word := range before.state {
			if c.state[i] != word {
				t.Fatalf("looking changed %v to %v", before.state, c.state)
			}
		}
		if wait := v.RetryAfter; !v.OK && wait != Forever {
			if !c.peek(now+wait, cost).OK || c.peek(now+wait-1, cost).OK {
				t.Fatalf("%s: cost %d: wrong promise %+v of %v", c.rule.Shape(), cost, v, c.state)
			}
		}
		if until := max(c.rule.Until(c.state), now); c.peek(until, 0).ResetAfter != 0 {
			t.Fatalf("%s: not empty at its end: %v", c.rule.Shape(), c.state)
		}
	}
}
