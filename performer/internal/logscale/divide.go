package logscale

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Divide sets dst to the leading elements of sums over total, with an error of 2 units in the last
// place at most, and to exactly 1 where an element equals total. A zero sum counts as +0, because
// products without an effect could otherwise change its sign.
func Divide[T dense.Float](dst, sums []T, total T) {
	total += 0
	// A reciprocal r with r·total = 1 is accurate enough, also for elements equal to total. For
	// thirteen totals in fourteen r is the nearest number to 1/total, or the next larger one.
	r := 1 / total
	if r*total < 1 {
		r += r * (1.5 * Roundoff[T]())
	}
	if r*total == 1 {
		vecmath.Affine(dst, sums[:len(dst)], r, 0)
		return
	}
	for j := range dst {
		dst[j] = (sums[j] + 0) / total
	}
}

// Roundoff returns half the distance from 1 to the next number.
func Roundoff[T dense.Float]() T {
	if T(1)+0x1p-30 == 1 {
		return 0x1p-24
	}
	return 0x1p-53
}
