package backendtest

import "github.com/stint-go/stint/core"

// A strategy under the name that its subtest bears.
type strategy struct {
	name string
	core.Strategy
}

var strategies = []strategy{
	{"strangers-quota", quota{}},
	{"fixed-staggered", core.FixedWindow{}},
	{"fixed-clock", core.FixedWindow{Align: core.Clock}},
	{"fixed-first-hit", core.FixedWindow{Align: core.FirstHit}},
	{"bucketed", core.BucketedWindow{}},
	{"bucketed-inclusive-clock", core.BucketedWindow{Inclusive: true, Align: core.Clock}},
	{"sliding-staggered", core.SlidingWindow{}},
	{"sliding-clock", core.SlidingWindow{Align: core.Clock}},
	{"moving", core.MovingWindow{}},
	{"gcra", core.GCRA{}},
	{"gcra-burst-3", core.GCRA{Burst: 3}},
}
