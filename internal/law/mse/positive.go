package mse

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// Positive is the law of the features exp(wᵀx − ‖x‖²/2)/√m of the softmax kernel: for independent
// rows
//
//	MSE = S²·(e^p − 1)/m
//
// [Choromanski et al. 2021]. The features of the Gaussian kernel are e^(−‖x‖²/2) times as large and
// have the same relative error. The same holds for the other positive features. The error K²·(e^p −
// 1)/m = e^(4xᵀy)·(1 − e^(−p))/m is finite for points at any distance from the origin.
//
// Two orthogonal rows of a block have the covariance
//
//	c = e^(−‖x‖²−‖y‖²)·(₁F₁(d; d/2; p/2) − e^p) ≤ 0
//
// for d ≥ 2. It follows from E[exp((v+w)ᵀ(x+y))] with v+w as in Trig. Two simplex rows, at an angle
// of cosine κ = −1/(d−1), have
//
//	c = e^(−‖x‖²−‖y‖²)·(E[₁F₁(d; d/2; (1 + κ·sin 2α)p/2)] − e^p) ≤ 0
//
// with α as in SimplexExcess. This is below the covariance of orthogonal rows [Reid et al. 2023].
var Positive = Optimal(0)

// Hyperbolic is the law of the 2m features exp(±wᵀx − ‖x‖²/2)/√(2m) of the softmax kernel for m
// frequencies: for independent rows
//
//	MSE = S²·(e^p − 1)·(1 − e^(−p))/(2m)
//
// [Choromanski et al. 2021]. The covariance of two orthogonal rows is the covariance of Positive,
// because −w is orthogonal to v too. In a simplex −w is at the opposite cosine from v. So the
// covariance is the mean of the covariances of Positive for κ and −κ, above the covariance of
// orthogonal rows.
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
// [Likhosherstov et al. 2022]. The covariances of two rows are the covariances of Positive for
// every a. The factor (1−4a)^d·exp(2a(‖v‖² + ‖w‖²)) turns the law of two rows into the law of rows
// longer by 1/√(1−4a), and the slope √(1−4a) undoes this. The factor depends on lengths, not on
// angles.
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

// Damped is the law over independent rows of the features det(I−4A)^¼·exp(wᵀAw + wᵀ(I−4A)^½Qᵀx −
// ‖x‖²/2)/√m of the softmax kernel, with A = diag(damping) below 1/8 and the d×d orthogonal matrix
// Q = basis,
//
//	MSE = (Π_l (1−4a_l)·(1−8a_l)^(−½)·exp(2(1−4a_l)·(Qᵀ(x+y))_l²/(1−8a_l)) · e^(−‖x‖²−‖y‖²) − S²)/m:
//
// the second moment of Optimal [Likhosherstov et al. 2022], one coordinate at a time. The map comes
// from [Likhosherstov et al. 2023]. The law panics if points are not in R^d.
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
// dimensions of damping a in which ‖x+y‖² = p:
//
//	log((1−4a)^(2n)·(1−8a)^(−n)) + p/(1−8a) ≥ 0.
func excessLog(a, n, p float64) float64 {
	// (1−4a)² = 1−8a + 16a²
	return n*math.Log1p(16*a*a/(1-8*a)) + p/(1-8*a)
}
