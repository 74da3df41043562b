package bench

import "math/bits"

// Hist is a log-linear histogram of nanoseconds, within 1.6 %.
type Hist struct {
	n   [64 * 40]uint64
	sum uint64
	max uint64
}

func bucket(v uint64) int {
	if v < 64 {
		return int(v)
	}
	e := bits.Len64(v) - 6
	return min(e*32+int(v>>e), 64*40-1)
}

// Add counts one duration.
func (h *Hist) Add(ns int64) {
	v := uint64(max(ns, 0))
	h.n[bucket(v)]++
	h.sum++
	h.max = max(h.max, v)
}

// Merge adds what another one has counted.
func (h *Hist) Merge(o *Hist) {
	for i, c := range o.n {
		h.n[i] += c
	}
	h.sum += o.sum
	h.max = max(h.max, o.max)
}

// Count is how many were added.
func (h *Hist) Count() uint64 { return h.sum }

// Max is the longest.
func (h *Hist) Max() uint64 { return h.max }

// Quantile is the lower edge of the bucket that holds the q-quantile.
func (h *Hist) Quantile(q float64) uint64 {
	want := uint64(q * float64(h.sum))
	var seen uint64
	for i, c := range h.n {
		if seen += c; seen > want {
			if i < 64 {
				return uint64(i)
			}
			e := (i - 32) / 32
			return uint64(i-e*32) << e
		}
	}
	return h.max
}
