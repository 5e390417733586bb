package vecmath

import "math"

func peakReference[T Float](x []T) T {
	inf := T(math.Inf(1))
	peak := -inf
	for _, v := range x {
		if peak < v && v < inf {
			peak = v
		}
	}
	return peak
}

func peakSumReference[T Float](x, a, b []T) int {
	inf := T(math.Inf(1))
	peak, at := -inf, -1
	for i, v := range x {
		if s := v + a[i] + b[i]; peak < s && s < inf {
			peak, at = s, i
		}
	}
	return at
}

const partial = 32

func sumOfSquaresReference[T Float](x []T) float64 { return dotReference(x, x) }

// dotReference returns Σx[i]·y[i]. Partial sums j of the elements j, j + 32, j + 64, … are added in
// halves: the upper 16 to the lower 16, the upper 8 of these to the lower 8, and so on.
func dotReference[T Float](x, y []T) float64 {
	var sums [partial]float64
	for ; len(x) >= partial; x, y = x[partial:], y[partial:] {
		for j, v := range x[:partial] {
			// The conversion keeps the compiler from fusing product and sum.
			sums[j] += float64(float64(v) * float64(y[j]))
		}
	}
	for j, v := range x {
		sums[j] += float64(float64(v) * float64(y[j]))
	}
	for h := partial / 2; h > 0; h /= 2 {
		for j := range h {
			sums[j] += sums[j+h]
		}
	}
	return sums[0]
}
