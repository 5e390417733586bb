package mse

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// Positive is the law of the features exp(wᵀx − ‖x‖²/2)/√m of the softmax kernel: for independent
// rows MSE = S²·(e^p − 1)/m [Choromanski et al. 2021]. Two orthogonal rows v, w of a block have the
// covariance e^(−‖x‖²−‖y‖²)·(₁F₁(d; d/2; p/2) − e^p) ≤ 0, and rows of a simplex the mean of ₁F₁
// that SimplexExcess has in place of ₁F₁ [Reid et al. 2023].
var Positive = Optimal(0)

// Hyperbolic is the law of the 2m features exp(±wᵀx − ‖x‖²/2)/√(2m) of the softmax kernel: for
// independent rows MSE = S²·(e^p − 1)·(1 − e^(−p))/(2m) [Choromanski et al. 2021]. The covariance
// of two rows is the mean of the covariances of Positive for the cosines κ and −κ.
var Hyperbolic = ofTerms(
	func(z pair) product {
		half := math.Expm1(-z.p)
		return product{v: half * half / 2, norms: 1, dot: 2}
	},
	func(z pair) float64 { return math.Exp(-z.p) * ConfluentExcess(z.d, z.p/2) },
	func(z pair) float64 { return SimplexEvenExcess(z.d, z.p/2) },
)

// Optimal is the law of the features (1−4a)^(d/4)·exp(a‖w‖² + √(1−4a)·wᵀx − ‖x‖²/2)/√m of the
// softmax kernel: for independent rows
//
//	MSE = ((1−4a)^d·(1−8a)^(−d/2)·exp(2(1−4a)p/(1−8a) − ‖x‖² − ‖y‖²) − S²)/m
//
// [Likhosherstov et al. 2022]. The covariances of two rows are those of Positive for every a.
func Optimal(a float64) Exponential {
	// The second moment is e^log times S². In units of the second moment the variance is 1 −
	// e^(−log), and c = e^(−log)·excess because S²·e^p = e^(2p−‖x‖²−‖y‖²).
	log := func(z pair) float64 { return excessLog(a, float64(z.d)/2, z.p) }
	return ofTerms(
		func(z pair) product {
			r := 1 / (1 - 8*a)
			return product{v: -math.Expm1(-log(z)), norms: r, dot: 2 * r, c: excessLog(a, float64(z.d)/2, 0)}
		},
		func(z pair) float64 { return math.Exp(-log(z)) * ConfluentExcess(z.d, z.p/2) },
		func(z pair) float64 { return math.Exp(-log(z)) * SimplexExcess(z.d, z.p/2) },
	)
}

// Damped is the law over independent rows of the features of rff.SDERF, with damping below 1/8 and
// the d×d orthogonal matrix Q = basis: the second moment of Optimal, one coordinate of Qᵀ(x+y) at a
// time [Likhosherstov et al. 2023]. The law panics if points are not in R^d.
func Damped(damping []float64, basis dense.Matrix[float64]) Exponential {
	transposed := dense.Transpose(dense.Matrix[float64]{}, basis)
	log := func(x, y []float64) float64 {
		var sum float64
		for l, v := range mapped(transposed, floats.AddTo(make([]float64, len(x)), x, y)) {
			sum += excessLog(damping[l], 0.5, v*v)
		}
		return sum
	}
	return ofIID(func(z pair) product {
		e := log(z.x, z.y)
		if !math.IsInf(e, 1) {
			return product{v: -math.Expm1(-e), c: e}
		}
		// The exponent grows as ‖x‖² + ‖y‖² here, and its constants are negligible. The ratio is
		// the same for the points divided by 2ⁿ, where it does not overflow.
		n := max(exponent(z.x), exponent(z.y)) - 500
		x, y := scaled(z.x, -n), scaled(z.y, -n)
		return product{v: 1, norms: log(x, y) / (floats.Dot(x, x) + floats.Dot(y, y))}
	})
}

// excessLog returns the logarithm of the second moment of φ(x)φ(y) over its squared mean, for 2n
// dimensions of damping a in which ‖x+y‖² = p: log((1−4a)^(2n)·(1−8a)^(−n)) + p/(1−8a).
func excessLog(a, n, p float64) float64 {
	// (1−4a)² = 1−8a + 16a²
	return n*math.Log1p(16*a*a/(1-8*a)) + p/(1-8*a)
}
