package vecmath

import "math"

// Peak returns the largest finite element of x, or −Inf if no element is finite. If x holds zeros
// of both signs, a zero result may have either sign.
func Peak[T Float](x []T) T {
	return peak(x)
}

// PeakSum returns the first index i of the largest finite sum (x[i] + a[i]) + b[i], or −1 if no sum
// is finite. Both additions round, and results are the same in every tier.
func PeakSum[T Float](x, a, b []T) int {
	return peakSum(x, first(a, len(x)), first(b, len(x)))
}

// HalfSquaredNorm returns ½Σx[i]² in float64. It returns NaN if an element is NaN or infinite, and
// +Inf if the sum overflows. The sum has 32 partial sums and no fused operations, in an order that
// depends on len(x) alone: results are the same in every tier.
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
