package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
)

// finish turns the sums of some queries into outputs: it divides by the last column, or, when
// unnormalised, multiplies row i by scales[i].
func (a *Attention[T]) finish(dst, sums dense.Matrix[T], scales []scale) {
	for i := range dst.Rows {
		x, row := dst.Row(i), sums.Row(i)
		switch {
		case a.sums:
			a.leave(x, row, scales[i])
		case !a.opts.Unnormalised:
			divide(x, row, row[len(x)])
		case a.logs:
			applyScale(x, row, scales[i])
		default:
			vecmath.Affine(x, row[:len(x)], 1, 0)
		}
	}
}

// divide sets dst to the leading elements of sums over total, with an error of 2 units in the last
// place at most, and to exactly 1 where they are equal. A zero sum counts as +0: its sign may come
// from products that are to have no effect.
func divide[T dense.Float](dst, sums []T, total T) {
	total += 0
	// Where a reciprocal leads back to 1 it is good enough for all elements, also those that are
	// the total. The nearest number does for six totals in seven, that or the next one up for
	// thirteen in fourteen, and neither out of range.
	r := 1 / total
	if r*total < 1 {
		r += r * (1.5 * unitRoundoff[T]())
	}
	if r*total == 1 {
		vecmath.Affine(dst, sums[:len(dst)], r, 0)
		return
	}
	for j := range dst {
		dst[j] = (sums[j] + 0) / total
	}
}

// unitRoundoff returns half the distance from 1 to the next number.
func unitRoundoff[T dense.Float]() T {
	if T(1)+0x1p-30 == 1 {
		return 0x1p-24
	}
	return 0x1p-53
}
