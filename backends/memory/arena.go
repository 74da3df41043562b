package memory

import "unsafe"

// An arena holds the records of one shard, in chunks of one size class each. An
// address is the chunk's number and the word in it; chunk 0 does not exist.
type arena struct {
	chunks []chunk
	spare  uint16               // the first unused number in chunks, linked by next
	room   [len(classes)]uint16 // per class the first chunk with a free record
}

type chunk struct {
	words      *words
	slab       *slab
	free       uint16 // offset of the first free record, linked by its first word
	live       uint16
	prev, next uint16 // among the chunks of its class with free records
	class      uint8
	size       uint8 // of its records, in words
	bit        uint8 // of the slab
}

const (
	chunkBits = 9 // log2 of chunkWords
	maxChunks = 1 << (addrBits - chunkBits)
	noFree    = chunkWords
)

// classes are the sizes of a record's state, in words.
var classes = [...]uint8{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}

const mostWords = 64

// classOf is the class of a state of so many words.
var classOf = func() (t [mostWords + 1]uint8) {
	for n, c := 1, 0; n < len(t); n++ {
		if n > int(classes[c]) {
			c++
		}
		t[n] = uint8(c)
	}
	return t
}()

func recordWords(class uint8) int { return headWords + int(classes[class]) }

// record is the record at an address: its head and as many words as its class has.
func (a *arena) record(addr uint32) []int64 {
	c := &a.chunks[addr>>chunkBits]
	o := int(addr & (chunkWords - 1))
	return c.words[o : o+int(c.size)]
}

// alloc returns a record of undefined content, or 0 when there is no room.
func (a *arena) alloc(p *pool, class uint8, force bool) uint32 {
	n := a.room[class]
	if n == 0 {
		if n = a.addChunk(p, class, force); n == 0 {
			return 0
		}
	}
	c := &a.chunks[n]
	o := c.free
	c.free = uint16(c.words[o])
	c.live++
	if c.free == noFree {
		a.unlink(n)
	}
	return uint32(n)<<chunkBits | uint32(o)
}

// release frees a record, and its chunk when it was the last in it.
func (a *arena) release(p *pool, addr uint32) {
	n, o := uint16(addr>>chunkBits), uint16(addr&(chunkWords-1))
	c := &a.chunks[n]
	full := c.free == noFree
	c.words[o], c.words[o+1] = int64(c.free), 0
	c.free = o
	c.live--
	switch {
	case c.live == 0:
		if !full {
			a.unlink(n)
		}
		p.put(c.slab, int(c.bit))
		*c = chunk{next: a.spare}
		a.spare = n
	case full:
		a.link(n)
	}
}

// addChunk takes a chunk from the pool and threads its free list.
func (a *arena) addChunk(p *pool, class uint8, force bool) uint16 {
	if a.spare == 0 && !a.number(p, force) {
		return 0
	}
	slab, bit := p.take(force)
	if slab == nil {
		return 0
	}
	n, size := a.spare, recordWords(class)
	c := &a.chunks[n]
	a.spare = c.next
	*c = chunk{words: &slab.chunks[bit], slab: slab, class: class, size: uint8(size), bit: uint8(bit)}
	last := chunkWords/size - 1
	for i := range last {
		c.words[i*size], c.words[i*size+1] = int64((i+1)*size), 0
	}
	c.words[last*size], c.words[last*size+1] = noFree, 0
	a.link(n)
	return n
}

// numbers reports whether a chunk more could be addressed.
func (a *arena) numbers() bool { return a.spare != 0 || len(a.chunks) < maxChunks }

// number makes one more chunk number.
func (a *arena) number(p *pool, force bool) bool {
	n := len(a.chunks)
	if n == maxChunks {
		return false
	}
	if n == cap(a.chunks) {
		more := max(4, n)
		bytes := int64(more) * int64(unsafe.Sizeof(chunk{}))
		if !p.claim(bytes) {
			if !force {
				return false
			}
			p.bytes.Add(bytes)
		}
		a.chunks = append(make([]chunk, 0, n+more), a.chunks...)
	}
	a.chunks = a.chunks[:max(n, 1)+1] // the first time, number 0 is skipped
	a.spare = uint16(len(a.chunks) - 1)
	return true
}

func (a *arena) link(n uint16) {
	c := &a.chunks[n]
	c.prev, c.next = 0, a.room[c.class]
	if c.next != 0 {
		a.chunks[c.next].prev = n
	}
	a.room[c.class] = n
}

func (a *arena) unlink(n uint16) {
	c := &a.chunks[n]
	if c.prev != 0 {
		a.chunks[c.prev].next = c.next
	} else {
		a.room[c.class] = c.next
	}
	if c.next != 0 {
		a.chunks[c.next].prev = c.prev
	}
	c.prev, c.next = 0, 0
}
