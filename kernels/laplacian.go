package kernels

import (
	"fmt"
	"math"
)

// Laplacian is the kernel k(x, y) = exp(−‖x−y‖₁/ℓ), where ℓ is LengthScale and ‖·‖₁ sums absolute
// values [Rahimi & Recht 2007]. scikit-learn's gamma is 1/ℓ. Laplacian is positive definite on R^d
// for every d, with values in (0, 1]. The kernel exp(−‖x−y‖/ℓ) is Matern{Nu: 0.5}, not Laplacian.
type Laplacian struct {
	// LengthScale is ℓ > 0 in exp(−‖x−y‖₁/ℓ), in units of x; zero means 1.
	LengthScale float64
}

// Eval returns the Laplacian kernel of x and y, and panics if Check fails or len(x) ≠ len(y).
func (k Laplacian) Eval(x, y []float64) float64 {
	must(k.check())
	checkLengths(x, y)
	l := orOne(k.LengthScale)
	var r float64
	for i, v := range x {
		r += math.Abs(v-y[i]) / l
	}
	// exp(−Inf) = 0 would hide an infinite coordinate.
	if math.IsInf(r, 1) && !finite(x, y) {
		return math.NaN()
	}
	return math.Exp(-r)
}

func (k Laplacian) check() error { return positive("Laplacian.LengthScale", k.LengthScale) }

// String returns the kernel as a literal of Go, with defaults filled in.
func (k Laplacian) String() string {
	return fmt.Sprintf("Laplacian{LengthScale: %v}", orOne(k.LengthScale))
}
