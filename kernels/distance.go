package kernels

import "math"

// squaredDistance returns ‖x − y‖²/ℓ², NaN if a coordinate is NaN or infinite. Dividing before
// squaring keeps it finite wherever the result is.
func squaredDistance(x, y []float64, l float64) float64 {
	checkLengths(x, y)
	var q float64
	for i, v := range x {
		z := (v - y[i]) / l
		q += z * z
	}
	if math.IsInf(q, 1) && !finite(x, y) {
		return math.NaN()
	}
	return q
}

// cancelled is the share of ‖x‖² + ‖y‖² below which ‖x − y‖² is not computed from inner products,
// because cancellation would magnify their errors by more than 1/cancelled.
const cancelled = 1.0 / 16

// squaredDistances overwrites g[j] = xᵀy_j by ‖x − y_j‖²/ℓ², or by NaN after cancellation.
func squaredDistances(g []float64, xx float64, yy []float64, l float64) {
	yy = yy[:len(g)]
	for j, v := range g {
		sum := xx + yy[j]
		q := sum - 2*v
		if !(q >= cancelled*sum) {
			q = math.NaN()
		}
		g[j] = q / l / l
	}
}
