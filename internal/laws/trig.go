package laws

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// TrigIID is the law of the features [cos(wᵀx), sin(wᵀx)]/√m of the Gaussian kernel,
//
//	MSE = (1 − e^(−q))²/(2m)
//
// [Sutherland & Schneider 2015]. Those of the softmax kernel, e^(‖x‖²/2) times as large, have
// e^p·S⁻² times this error [Choromanski et al. 2021].
var TrigIID = ExponentialLaw{func(z pair, m int) product { return z.trig(gaussianTerm(z) / float64(m)) }}

// TrigORF is the law of the same features with orthogonal rows: that of TrigIID with the
// covariance
//
//	c = ₁F₁(d; d/2; −q/2) − e^(−q)
//
// of two rows of a block, for d ≥ 2, for the Gaussian kernel.
//
// For rows v, w and z = x−y, E[cos(vᵀz)cos(wᵀz)] = E[cos((v+w)ᵀz)], where v+w
// has a uniform direction and a squared length r² from χ²(2d): the expectation is
// that of ₀F₁(; d/2; −r²q/4), and E[r^(2k)] = 2^k·(d)_k term by term.
var TrigORF = ExponentialLaw{func(z pair, m int) product {
	return z.trig(blocks(m, z.d, gaussianTerm(z), ConfluentExcess(z.d, -z.q/2)))
}}

// TrigSimplex is the law of the features of TrigIID with simplex rows: that law with the
// covariance
//
//	c = ½(ρ(κ) + ρ(−κ)) − e^(−q),  ρ(κ) = E[₁F₁(d; d/2; −(1 + κ·sin 2α)q/2)],
//
// of two rows of a block, at an angle of cosine κ = −1/(d−1), with α as in
// SimplexExcess: cos(vᵀz)·cos(wᵀz) is the mean of cos((v+w)ᵀz) and cos((v−w)ᵀz).
// It is above that of TrigORF.
var TrigSimplex = ExponentialLaw{func(z pair, m int) product {
	return z.trig(blocks(m, z.d, gaussianTerm(z), SimplexEvenExcess(z.d, -z.q/2)))
}}

// PhaseIID is the law of the features √(2/m)·cos(wᵀx + b) of the Gaussian kernel, with b
// uniform on [0, 2π),
//
//	MSE = (1 + e^(−2q)/2 − e^(−q))/m
//
// [Sutherland & Schneider 2015].
var PhaseIID = ExponentialLaw{func(z pair, m int) product { return z.trig(gaussianPhaseTerm(z) / float64(m)) }}

// PhaseORF is the law of the features of PhaseIID with orthogonal rows. The covariance of two
// rows is that of TrigORF: their phases are independent, and averaging over them leaves
// cos(vᵀz) and cos(wᵀz).
var PhaseORF = ExponentialLaw{func(z pair, m int) product {
	return z.trig(blocks(m, z.d, gaussianPhaseTerm(z), ConfluentExcess(z.d, -z.q/2)))
}}

// PhaseSimplex is the law of the features of PhaseIID with simplex rows, with the covariance
// of TrigSimplex.
var PhaseSimplex = ExponentialLaw{func(z pair, m int) product {
	return z.trig(blocks(m, z.d, gaussianPhaseTerm(z), SimplexEvenExcess(z.d, -z.q/2)))
}}

// GaussianFixedMean is the mean of the estimate of the Gaussian kernel when every
// row has length √d and a uniform direction, orthogonal to others or not,
//
//	E[φ(x)ᵀφ(y)] = ₀F₁(; d/2; −d·q/4).
//
// It is not K: fixed lengths are a bias [Demni & Kadri 2024]. It depends on no m.
func GaussianFixedMean(x, y []float64) float64 {
	z := newPair(x, y, 1)
	d := float64(z.d)
	if t := d * z.q / 4; !math.IsInf(t, 1) {
		return ConfluentLimit(z.d, -t)
	}
	return sphereMean(z.d, math.Sqrt(d)*floats.Distance(x, y, 2), 0)
}

// trig is the error v of the Gaussian kernel, relative to it.
func (z pair) trig(v float64) product { return product{v: v, norms: 1, dot: -2} }

// gaussianTerm returns the variance of cos(wᵀ(x−y)).
func gaussianTerm(z pair) float64 {
	e := math.Expm1(-z.q)
	return e * e / 2
}

// gaussianPhaseTerm returns the variance of 2·cos(wᵀx+b)·cos(wᵀy+b).
func gaussianPhaseTerm(z pair) float64 {
	k := math.Exp(-z.q)
	return 1 + k*k/2 - k
}
