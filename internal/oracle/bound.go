package oracle

import "math/big"

// Bound is the most units that the rule admits in any half-open interval of that
// length: what its documentation states for the window, and for every other
// length.
func Bound(r Rule, length int64) *big.Int {
	n, w := r.Limit, r.Window
	up := func(a, b int64) int64 { return (a + b - 1) / b }
	times := func(n, k int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(k)) }
	switch kind, precision, align := r.parse(); kind {
	case "fixed":
		most := times(n, up(length, w)+1)
		if align == "first" {
			most.Sub(most, big.NewInt(1))
		}
		return most
	case "bucket", "bucketi":
		return times(n, up(up(length, precision)+1, r.row()))
	case "sliding":
		if length > w {
			return times(n, up(length, w)+1)
		}
		weighted := times(n, length)
		weighted.Add(weighted, big.NewInt(w-1))
		weighted.Quo(weighted, big.NewInt(w))
		return weighted.Add(weighted, big.NewInt(n))
	case "moving":
		return times(n, up(length, w))
	}
	units := times(n, length)
	units.Add(units, big.NewInt(w-1))
	units.Quo(units, big.NewInt(w))
	return units.Add(units, big.NewInt(r.Burst-1))
}

// Lengths are those of the intervals that bounds are checked for: the precision
// (or a tenth of the window), the window, that less the precision, two and ten
// windows.
func Lengths(r Rule) []int64 {
	w := r.Window
	p := w / 10
	if kind, precision, _ := r.parse(); kind == "bucket" || kind == "bucketi" {
		p = precision
	}
	l := []int64{p, w, 2 * w, 10 * w}
	if w > p {
		l = append(l, w-p)
	}
	return l
}

// A Charge is units that were admitted at an instant.
type Charge struct{ At, Units int64 }

// Most is the largest number of units charged in a half-open interval of that
// length, over all intervals. The log is in the order of time.
func Most(log []Charge, length int64) (most int64) {
	var sum int64
	first := 0
	for _, c := range log {
		sum += c.Units
		for log[first].At <= c.At-length {
			sum -= log[first].Units
			first++
		}
		most = max(most, sum)
	}
	return most
}
