package replay

import (
	"cmp"
	"slices"
)

// An Identity is whom a policy counts.
type Identity struct{ Policy, Key string }

// A KeyCount is how often an identity asked, and was refused.
type KeyCount struct {
	Identity
	Requests, Refused int64
}

// counts are requests by identity, of bounded size: where there are too many, the
// half that asked least is forgotten, and how many those were is remembered. What
// stands out is counted exactly as long as it stands out.
type counts struct {
	by      map[Identity]*[2]int64 // requests, refused
	dropped int64                  // identities, each at least once
	refused int64                  // those of them that had been refused
}

const mostCounts = 1 << 17

func newCounts() *counts { return &counts{by: map[Identity]*[2]int64{}} }

func (c *counts) add(id Identity, requests, refused int64) {
	n := c.by[id]
	if n == nil {
		if len(c.by) >= mostCounts {
			c.halve()
		}
		n = new([2]int64)
		c.by[id] = n
	}
	n[0] += requests
	n[1] += refused
}

func (c *counts) halve() {
	all := make([]int64, 0, len(c.by))
	for _, n := range c.by {
		all = append(all, n[0])
	}
	slices.Sort(all)
	for id, n := range c.by {
		if n[0] <= all[len(all)/2] {
			c.dropped++
			if n[1] > 0 {
				c.refused++
			}
			delete(c.by, id)
		}
	}
}

// keys is how many identities there were, and how many of them were refused. They
// are upper bounds once some were forgotten, which can come back.
func (c *counts) keys() (all, refused int64) {
	all, refused = c.dropped, c.refused
	for _, n := range c.by {
		all++
		if n[1] > 0 {
			refused++
		}
	}
	return all, refused
}

// top are the identities that were refused most, then those that asked most.
func (c *counts) top(n int) []KeyCount {
	list := make([]KeyCount, 0, len(c.by))
	for id, k := range c.by {
		list = append(list, KeyCount{id, k[0], k[1]})
	}
	slices.SortFunc(list, func(a, b KeyCount) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Requests, a.Requests),
			cmp.Compare(a.Key, b.Key), cmp.Compare(a.Policy, b.Policy))
	})
	return list[:min(n, len(list))]
}
