package laws

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// PositiveIID is the law of the features exp(wᵀx − ‖x‖²/2)/√m of the softmax kernel,
//
//	MSE = S²·(e^p − 1)/m
//
// [Choromanski et al. 2021]. Those of the Gaussian kernel, e^(−‖x‖²/2) times as large, have
// the same relative error, and so with the other positive features: the error
// K²·(e^p − 1)/m = e^(4xᵀy)·(1 − e^(−p))/m is finite however far from the origin points are.
var PositiveIID = OptimalIID(0)

// PositiveORF is the law of the features of PositiveIID with orthogonal rows: that law with
// the covariance
//
//	c = e^(−‖x‖²−‖y‖²)·(₁F₁(d; d/2; p/2) − e^p) ≤ 0
//
// of two rows of a block, for d ≥ 2, by E[exp((v+w)ᵀ(x+y))] with v+w as in TrigORF.
var PositiveORF = OptimalORF(0)

// PositiveSimplex is the law of the features of PositiveIID with simplex rows: that law with
// the covariance
//
//	c = e^(−‖x‖²−‖y‖²)·(E[₁F₁(d; d/2; (1 + κ·sin 2α)p/2)] − e^p) ≤ 0
//
// of two rows of a block, at an angle of cosine κ = −1/(d−1), with α as in
// SimplexExcess. It is below that of PositiveORF [Reid et al. 2023].
var PositiveSimplex = OptimalSimplex(0)

// HyperbolicIID is the law of the 2m features exp(±wᵀx − ‖x‖²/2)/√(2m) of the softmax kernel
// for m frequencies,
//
//	MSE = S²·(e^p − 1)·(1 − e^(−p))/(2m)
//
// [Choromanski et al. 2021].
var HyperbolicIID = hyperbolic(independent)

// HyperbolicORF is the law of the features of HyperbolicIID with orthogonal rows. The
// covariance of two rows is that of PositiveORF, because −w is orthogonal to v as w is.
var HyperbolicORF = hyperbolic(func(d int, t float64) float64 { return math.Exp(-2*t) * ConfluentExcess(d, t) })

// HyperbolicSimplex is the law of the features of HyperbolicIID with simplex rows. Here w
// enters with −w, at the opposite cosine from v: the covariance is the mean of those of
// PositiveSimplex for κ and −κ, above that of HyperbolicORF.
var HyperbolicSimplex = hyperbolic(SimplexEvenExcess)

// OptimalIID is the law of the features
// (1−4a)^(d/4)·exp(a‖w‖² + √(1−4a)·wᵀx − ‖x‖²/2)/√m of the softmax kernel,
//
//	MSE = ((1−4a)^d·(1−8a)^(−d/2)·exp(2(1−4a)p/(1−8a) − ‖x‖² − ‖y‖²) − S²)/m
//
// [Likhosherstov et al. 2022].
func OptimalIID(a float64) ExponentialLaw {
	return optimal(a, independent)
}

// OptimalORF is the law of the features of OptimalIID with orthogonal rows. The covariance of
// two rows is that of PositiveORF, whatever a is: the factor (1−4a)^d·exp(2a(‖v‖² + ‖w‖²)) is
// what turns the law of two rows into that of rows longer by 1/√(1−4a), which the slope
// √(1−4a) undoes.
func OptimalORF(a float64) ExponentialLaw { return optimal(a, ConfluentExcess) }

// OptimalSimplex is the law of the features of OptimalIID with simplex rows. The covariance
// of two rows is that of PositiveSimplex, whatever a is: the factor of OptimalORF is one of
// lengths, not of angles.
func OptimalSimplex(a float64) ExponentialLaw { return optimal(a, SimplexExcess) }

// DampedIID is the law of the features
// det(I−4A)^¼·exp(wᵀAw + wᵀ(I−4A)^½Qᵀx − ‖x‖²/2)/√m of the softmax kernel, with A =
// diag(damping) below 1/8 and the d×d orthogonal matrix Q = basis,
//
//	MSE = (Π_l (1−4a_l)·(1−8a_l)^(−½)·exp(2(1−4a_l)·(Qᵀ(x+y))_l²/(1−8a_l)) · e^(−‖x‖²−‖y‖²) − S²)/m:
//
// the second moment of OptimalIID, [Likhosherstov et al. 2022], one coordinate at a time. The
// map is that of [Likhosherstov et al. 2023]. The law panics if points are not in R^d.
func DampedIID(damping []float64, basis dense.Matrix[float64]) ExponentialLaw {
	transposed := dense.Transpose(dense.Matrix[float64]{}, basis)
	log := func(x, y []float64) float64 {
		var sum float64
		for l, v := range imageOf(transposed, floats.AddTo(make([]float64, len(x)), x, y)) {
			sum += excessLog(damping[l], 0.5, v*v)
		}
		return sum
	}
	return ExponentialLaw{func(z pair, m int) product {
		e := log(z.x, z.y)
		if !math.IsInf(e, 1) {
			return product{v: -math.Expm1(-e) / float64(m), c: e}
		}
		// Relative to ‖x‖² + ‖y‖² it is what it is nearer by, where constants are nothing.
		n := max(exponent(z.x), exponent(z.y)) - 500
		x, y := scaled(z.x, -n), scaled(z.y, -n)
		return product{v: 1 / float64(m), norms: log(x, y) / (floats.Dot(x, x) + floats.Dot(y, y))}
	}}
}

// optimal returns the law of positive features with the parameter a and the covariance
// e^(p−‖x‖²−‖y‖²)·excess(d, p/2) of two rows.
func optimal(a float64, excess func(d int, t float64) float64) ExponentialLaw {
	return ExponentialLaw{func(z pair, m int) product {
		// The second moment is e^log times S². In units of it the variance is 1 − e^(−log),
		// and c = e^(−log)·excess because S²·e^p = e^(2p−‖x‖²−‖y‖²).
		log := excessLog(a, float64(z.d)/2, z.p)
		r := 1 / (1 - 8*a)
		return product{
			v:     blocks(m, z.d, -math.Expm1(-log), math.Exp(-log)*excess(z.d, z.p/2)),
			norms: r, dot: 2 * r, c: excessLog(a, float64(z.d)/2, 0),
		}
	}}
}

// independent is the excess of rows that are.
func independent(int, float64) float64 { return 0 }

// excessLog returns the logarithm of the second moment of a feature's product over its
// squared mean, for n half dimensions of damping a and ‖x+y‖² = p in them:
//
//	log((1−4a)^(2n)·(1−8a)^(−n)) + p/(1−8a) ≥ 0.
func excessLog(a, n, p float64) float64 {
	// (1−4a)² = 1−8a + 16a²
	return n*math.Log1p(16*a*a/(1-8*a)) + p/(1-8*a)
}

// hyperbolic returns the law of hyperbolic features with the covariance
// e^(2p−‖x‖²−‖y‖²)·excess(d, p/2) of two rows.
func hyperbolic(excess func(d int, t float64) float64) ExponentialLaw {
	return ExponentialLaw{func(z pair, m int) product {
		half := math.Expm1(-z.p)
		return product{
			v:     blocks(m, z.d, half*half/2, excess(z.d, z.p/2)),
			norms: 1, dot: 2,
		}
	}}
}
