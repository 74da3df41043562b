package memory

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A pool hands chunks to shards and counts the bytes of the whole Backend. Its
// lock is taken with shard locks held, and no other lock inside it.
type pool struct {
	max   int64
	bytes atomic.Int64
	free  atomic.Int64 // chunks

	mu   sync.Mutex
	some []*slab // slabs with free chunks
}

const (
	chunkWords = 512 // 4 KiB: a page
	slabChunks = 64
	slabBytes  = slabChunks * chunkWords * 8
)

type words = [chunkWords]int64

// A slab is one allocation without pointers.
type slab struct {
	chunks *[slabChunks]words
	free   uint64 // a bit per chunk
}

// claim counts n more bytes, if the cap allows.
func (p *pool) claim(n int64) bool { return p.claimUpTo(p.max, n) }

func (p *pool) claimUpTo(limit, n int64) bool {
	if p.bytes.Add(n) <= limit {
		return true
	}
	p.bytes.Add(-n)
	return false
}

// forSlabs is the cap for slabs. The last eighth is left to states apart and to
// indexes: a slab, once full of other shards' records, can not make way for them.
func (p *pool) forSlabs() int64 { return p.max - p.max/8 }

// open reports whether take would succeed, but for others who are quicker.
func (p *pool) open() bool {
	return p.free.Load() > 0 || p.bytes.Load()+slabBytes <= p.forSlabs()
}

// take returns a chunk of a slab, or nil when the cap is reached and not forced.
func (p *pool) take(force bool) (*slab, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.some) == 0 {
		if !p.claimUpTo(p.forSlabs(), slabBytes) {
			if !force {
				return nil, 0
			}
			p.bytes.Add(slabBytes)
		}
		p.some = append(p.some, &slab{new([slabChunks]words), 1<<slabChunks - 1})
		p.free.Add(slabChunks)
	}
	s := p.some[len(p.some)-1]
	i := bits.TrailingZeros64(s.free)
	s.free &^= 1 << i
	p.free.Add(-1)
	if s.free == 0 {
		p.some = p.some[:len(p.some)-1]
	}
	return s, i
}

// put takes a chunk back. A slab that is free altogether goes to the collector,
// unless it is the last with room.
func (p *pool) put(s *slab, i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.free == 0 {
		p.some = append(p.some, s)
	}
	s.free |= 1 << i
	p.free.Add(1)
	if s.free != 1<<slabChunks-1 || len(p.some) == 1 {
		return
	}
	for j, o := range p.some {
		if o == s {
			last := len(p.some) - 1
			p.some[j], p.some[last] = p.some[last], nil
			p.some = p.some[:last]
			break
		}
	}
	p.free.Add(-slabChunks)
	p.bytes.Add(-slabBytes)
}
