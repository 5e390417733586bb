package kernels

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Maclaurin is the dot-product kernel k(x, y) = Σ a_n·(xᵀy)ⁿ with finitely many Coefficients a₀,
// a₁, …. A kernel f(xᵀy) has this form after its Maclaurin series is cut off; the error is the sum
// of the other terms.
//
// Positive semi-definite on R^d if all coefficients are at least 0, which Check demands. A
// polynomial with a negative coefficient is not positive semi-definite in every dimension
// [Schoenberg 1942].
type Maclaurin struct {
	// Coefficients are a₀, a₁, …: none negative and at least one positive.
	Coefficients []float64
}

// Eval returns Σ a_n·(xᵀy)ⁿ in O(d + n). It panics if the lengths differ or Coefficients are out of
// range.
func (k Maclaurin) Eval(x, y []float64) float64 {
	must(k.check())
	checkLengths(x, y)
	return k.at(floats.Dot(x, y))
}

func (k Maclaurin) check() error {
	for n, a := range k.Coefficients {
		if !(a >= 0) || math.IsInf(a, 1) {
			return fmt.Errorf("kernels: Maclaurin.Coefficients[%d] = %v, want a finite number, at least 0", n, a)
		}
	}
	if !slices.ContainsFunc(k.Coefficients, func(a float64) bool { return a > 0 }) {
		return fmt.Errorf("kernels: Maclaurin.Coefficients = %v, want a positive one", k.Coefficients)
	}
	return nil
}

// String returns the kernel as it is written in Go.
func (k Maclaurin) String() string { return fmt.Sprintf("Maclaurin{Coefficients: %v}", k.Coefficients) }

func (k Maclaurin) fromProducts(g []float64, _ float64, _ []float64) {
	for j, v := range g {
		g[j] = k.at(v)
	}
}

// at returns Σ a_n·tⁿ by Horner's rule. A constant is multiplied by t too, which keeps NaN and
// ±Inf.
func (k Maclaurin) at(t float64) float64 {
	var sum float64
	for _, a := range slices.Backward(k.Coefficients) {
		sum = sum*t + a
	}
	return sum
}
