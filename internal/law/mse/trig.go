package mse

import "math"

// Trig is the law of the features [cos(wᵀx), sin(wᵀx)]/√m of the Gaussian kernel: for independent
// rows MSE = (1 − e^(−q))²/(2m) [Sutherland & Schneider 2015]. The features of the softmax kernel
// have e^p·S⁻² times this error [Choromanski et al. 2021]. Two orthogonal rows of a block have the
// covariance ₁F₁(d; d/2; −q/2) − e^(−q) for d ≥ 2, simplex rows ½(ρ(κ) + ρ(−κ)) − e^(−q) with ρ(κ)
// = E[₁F₁(d; d/2; −(1 + κ·sin 2α)q/2)] and α as in SimplexExcess.
var Trig = ofTerms(
	func(z pair) product {
		e := math.Expm1(-z.q)
		return product{v: e * e / 2, norms: 1, dot: -2}
	},
	func(z pair) float64 { return ConfluentExcess(z.d, -z.q/2) },
	func(z pair) float64 { return SimplexEvenExcess(z.d, -z.q/2) },
)
