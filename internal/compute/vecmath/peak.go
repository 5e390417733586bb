package vecmath

import "math"

// Peak returns the largest element of x that is finite, or −Inf if there is none.
// If x holds zeros of both signs, the sign of a zero result is left open.
func Peak[T Float](x []T) T {
	return peak(x)
}

// PeakSum returns the first index i of the largest sum (x[i] + a[i]) + b[i] that
// is finite, or −1 if there is none. Both sums are rounded, and results are the
// same in every tier.
func PeakSum[T Float](x, a, b []T) int {
	return peakSum(x, first(a, len(x)), first(b, len(x)))
}

// HalfSquaredNorm returns ½Σx[i]² in float64, or NaN if an element is NaN or
// infinite; +Inf if the sum overflows. The sum has 32 partial sums, with no fused
// operations and in an order that depends on len(x) alone: results are the same
// in every tier.
func HalfSquaredNorm[T Float](x []T) float64 {
	sum := sumOfSquares(x)
	if sum-sum == 0 {
		return sum / 2
	}
	for _, v := range x {
		if v-v != 0 {
			return math.NaN()
		}
	}
	return sum
}
