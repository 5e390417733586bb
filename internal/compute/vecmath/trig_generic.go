package vecmath

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/compute/vecmath/minimax"
)

// The kernels of sincos set the elements before the first block with an argument beyond the limit,
// and return the number of these elements.

func sincosReference[T Float](sines, cosines, x []T) int {
	for i, v := range x {
		s, c := sincosOf(float64(v))
		sines[i], cosines[i] = T(s), T(c)
	}
	return len(x)
}

// sincosOf returns sin x and cos x with errors below 1 ulp.
func sincosOf(x float64) (s, c float64) {
	a := math.Abs(x)
	if !(a <= math.MaxFloat64) {
		return math.NaN(), math.NaN()
	}
	quadrant, hi, lo := uint64(0), a, 0.0
	if a > math.Pi/4 {
		quadrant, hi, lo = reduce(a)
	}
	z := hi * hi
	s, c = sine(hi, lo, z), cosine(hi, lo, z)
	if quadrant&1 != 0 {
		s, c = c, -s
	}
	if quadrant&2 != 0 {
		s, c = -s, -c
	}
	// The sine is odd: so sin(−0) = −0, too.
	if math.Signbit(x) {
		s = -s
	}
	return s, c
}

// sine returns sin(hi + lo) for |hi| ≤ π/4, given z = hi². The polynomial is minimax relative to
// the sine and wrong by 2^−57.
func sine(hi, lo, z float64) float64 {
	q := polynomial(minimax.Sine.Double, z)
	return hi + (hi*z*q + lo*(1-z/2))
}

// cosine returns cos(hi + lo) for |hi| ≤ π/4, given z = hi². The polynomial is minimax relative to
// the cosine and wrong by 2^−63.
func cosine(hi, lo, z float64) float64 {
	q := polynomial(minimax.Cosine.Double, z)
	h := z / 2
	w := 1 - h
	return w + ((1 - w - h) + (z*z*q - hi*lo))
}
