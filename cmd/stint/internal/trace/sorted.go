package trace

import (
	"container/heap"
	"iter"
)

// Sorted puts entries in the order of their instants, as far as they are at most
// so many microseconds late: it holds them back that long. Logs are written when
// responses end, and several servers' logs come one after the other. Entries of
// one instant keep their order.
func Sorted(batches iter.Seq[*Batch], late int64) iter.Seq[*Batch] {
	return func(yield func(*Batch) bool) {
		var held waiting
		var latest, n int64
		for b := range batches {
			for i := range b.Entries {
				e := &b.Entries[i]
				latest = max(latest, e.At)
				heap.Push(&held, arrival{e, n})
				n++
			}
			if b.Err != nil {
				b.Entries = held.until(latest)
			} else {
				b.Entries = held.until(latest - late - 1)
			}
			if !yield(b) {
				return
			}
		}
		if len(held) > 0 {
			yield(&Batch{Entries: held.until(latest)})
		}
	}
}

// waiting are entries that are held back, the first on top.
type waiting []arrival

type arrival struct {
	*Entry
	n int64
}

func (w waiting) Len() int { return len(w) }
func (w waiting) Less(i, j int) bool {
	return w[i].At < w[j].At || w[i].At == w[j].At && w[i].n < w[j].n
}
func (w waiting) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(a any)   { *w = append(*w, a.(arrival)) }
func (w *waiting) Pop() any {
	last := len(*w) - 1
	a := (*w)[last]
	(*w)[last] = arrival{}
	*w = (*w)[:last]
	return a
}

// until takes out the entries up to an instant.
func (w *waiting) until(at int64) (out []Entry) {
	for len(*w) > 0 && (*w)[0].At <= at {
		out = append(out, *heap.Pop(w).(arrival).Entry)
	}
	return out
}
