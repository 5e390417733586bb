package kernels

import (
	"fmt"
	"math"
)

// Laplacian is the kernel k(x, y) = exp(−‖x−y‖₁/ℓ), where ℓ is LengthScale and ‖·‖₁ sums absolute
// values [Rahimi & Recht 2007]. scikit-learn's gamma is 1/ℓ. Positive definite on R^d for every d;
// range (0, 1]. With the Euclidean norm in place of ‖·‖₁ take Matern{Nu: 0.5}.
type Laplacian struct {
	// LengthScale is ℓ > 0, in units of x. Zero means 1.
	LengthScale float64
}

// Eval returns exp(−‖x−y‖₁/ℓ) in O(d). Eval panics if Check reports an error or the lengths differ.
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

// String returns the kernel as it is written in Go, defaults filled in.
func (k Laplacian) String() string {
	return fmt.Sprintf("Laplacian{LengthScale: %v}", orOne(k.LengthScale))
}
