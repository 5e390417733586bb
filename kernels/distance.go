package kernels

import "math"

// Dividing before squaring keeps ‖x − y‖²/ℓ² finite wherever the result is.
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

// Below this share of ‖x‖² + ‖y‖², cancellation magnifies the errors of inner products.
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
