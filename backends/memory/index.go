package memory

// An index finds records: open addressing over slots of a tag and an address,
// probed one by one. A slot's home follows from its tag alone, so growing and
// deleting never touch a record. The empty slot is 0: no record has address 0.
type index struct {
	slots []uint32
	used  int
}

const (
	tagBits  = 14
	addrBits = 32 - tagBits
	addrMask = 1<<addrBits - 1

	leastSlots = 16
	mostSlots  = 1 << (addrBits - 1) // as many as there can be records; a full shard holds 1<<13
)

func (x *index) home(slot uint32) int {
	return int(uint64(slot>>addrBits) * uint64(len(x.slots)) >> tagBits)
}

func (x *index) next(i int) int {
	if i++; i == len(x.slots) {
		return 0
	}
	return i
}

// roomFor reports whether the load stays at or below 3/4 with n more.
func (x *index) roomFor(n int) bool { return (x.used+n)*4 <= len(x.slots)*3 }

// larger and smaller are the neighbouring sizes: 16, 24, 32, 48, 64, ...
func (x *index) larger() int {
	n := len(x.slots)
	switch {
	case n == 0:
		return leastSlots
	case n&(n-1) == 0:
		return n + n/2
	}
	return n / 3 * 4
}

// sparse tells that a smaller index would do, with room to grow again.
func (x *index) sparse() bool { return len(x.slots) > leastSlots && x.used*8 < len(x.slots) }

// resize moves all slots over. Homes ascend with tags, so this is nearly one
// pass over each.
func (x *index) resize(n int) {
	old := x.slots
	x.slots, x.used = make([]uint32, n), 0
	for _, slot := range old {
		if slot != 0 {
			x.add(slot)
		}
	}
}

func (x *index) add(slot uint32) {
	i := x.home(slot)
	for x.slots[i] != 0 {
		i = x.next(i)
	}
	x.slots[i] = slot
	x.used++
}

// at is the position of a slot that is there.
func (x *index) at(slot uint32) int {
	i := x.home(slot)
	for x.slots[i] != slot {
		i = x.next(i)
	}
	return i
}

// remove empties position i and closes the gap, so that no probe ends early.
func (x *index) remove(i int) {
	n := len(x.slots)
	for j := x.next(i); x.slots[j] != 0; j = x.next(j) {
		fromHome, fromGap := j-x.home(x.slots[j]), j-i
		if fromHome < 0 {
			fromHome += n
		}
		if fromGap < 0 {
			fromGap += n
		}
		if fromHome >= fromGap {
			x.slots[i] = x.slots[j]
			i = j
		}
	}
	x.slots[i] = 0
	x.used--
}
