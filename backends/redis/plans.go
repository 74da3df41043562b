package redislimit

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
)

const (
	// maxPlans is how many plans get a program of their own. With the two
	// general ones, that bounds the scripts that a server is ever sent by a
	// process, however many rates are a function of the request.
	maxPlans = 128
	// maxInlined is the number of asks up to which a plan gets one: Lua has 200
	// local variables.
	maxInlined = 12
)

// A planCache has the programs of the first plans seen. Reading takes no lock.
type planCache struct {
	most  int
	mu    sync.Mutex
	plans atomic.Pointer[map[string]*inlined]
}

// inlined is a plan of asks and its program.
type inlined struct {
	plans   []plan
	program *program
}

// of returns the plan of these steps, nil where they go to the general program.
func (c *planCache) of(steps []step, explicit bool) *inlined {
	if len(steps) > maxInlined || c.most == 0 {
		return nil
	}
	var buf [512]byte
	key := appendPlans(buf[:0], steps, explicit)
	known := c.plans.Load()
	if known != nil {
		if p, ok := (*known)[string(key)]; ok {
			return p
		}
		if len(*known) >= c.most {
			return nil
		}
	}
	return c.add(string(key), steps, explicit)
}

func (c *planCache) add(key string, steps []step, explicit bool) *inlined {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := make(map[string]*inlined)
	if known := c.plans.Load(); known != nil {
		for k, p := range *known {
			next[k] = p
		}
	}
	if p, ok := next[key]; ok {
		return p
	}
	if len(next) >= c.most {
		return nil
	}
	p := &inlined{plans: make([]plan, len(steps))}
	for i := range steps {
		p.plans[i] = steps[i].plan()
	}
	p.program = inline(p.plans, explicit)
	next[key] = p
	c.plans.Store(&next)
	return p
}

// appendPlans appends what tells plans apart.
func appendPlans(b []byte, steps []step, explicit bool) []byte {
	flag := func(set bool, bit byte) byte {
		if set {
			return bit
		}
		return 0
	}
	b = append(b, flag(explicit, 1))
	for i := range steps {
		s := &steps[i]
		b = append(b, s.Strategy...)
		b = append(b, byte(s.Align), byte(s.when), flag(s.soft, 1)|flag(s.last, 2)|flag(s.cost == 1, 4))
		for _, n := range [...]int64{s.Limit, s.Window, s.Burst, s.Precision, int64(s.Counters), s.BanFirst, s.BanLongest, s.BanForgive} {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return b
}
