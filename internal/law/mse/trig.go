package mse

import "math"

// Trig is the law of the features [cos(wᵀx), sin(wᵀx)]/√m of the Gaussian kernel: for independent
// rows
//
//	MSE = (1 − e^(−q))²/(2m)
//
// [Sutherland & Schneider 2015]. The features of the softmax kernel are e^(‖x‖²/2) times as large
// and have e^p·S⁻² times this error [Choromanski et al. 2021]. Two orthogonal rows of a block have
// the covariance
//
//	c = ₁F₁(d; d/2; −q/2) − e^(−q)
//
// for d ≥ 2. For rows v, w and z = x−y, E[cos(vᵀz)cos(wᵀz)] = E[cos((v+w)ᵀz)], where v+w has a
// uniform direction and a squared length r² from χ²(2d). This is the expectation of ₀F₁(; d/2;
// −r²q/4), and E[r^(2k)] = 2^k·(d)_k gives ₁F₁ term by term. Simplex rows, at an angle of cosine κ
// = −1/(d−1), have
//
//	c = ½(ρ(κ) + ρ(−κ)) − e^(−q),  ρ(κ) = E[₁F₁(d; d/2; −(1 + κ·sin 2α)q/2)],
//
// with α as in SimplexExcess: cos(vᵀz)·cos(wᵀz) is the mean of cos((v+w)ᵀz) and cos((v−w)ᵀz). This
// covariance is above the covariance of orthogonal rows.
var Trig = waves(func(z pair) float64 {
	e := math.Expm1(-z.q)
	return e * e / 2 // the variance of cos(wᵀ(x−y))
})

// Phase is the law of the features √(2/m)·cos(wᵀx + b) of the Gaussian kernel, with b uniform on
// [0, 2π): for independent rows
//
//	MSE = (1 + e^(−2q)/2 − e^(−q))/m
//
// [Sutherland & Schneider 2015]. The covariance of two rows is the covariance of Trig: the phases
// are independent, and the mean over them leaves cos(vᵀz) and cos(wᵀz).
var Phase = waves(func(z pair) float64 {
	k := math.Exp(-z.q)
	return 1 + k*k/2 - k // the variance of 2·cos(wᵀx+b)·cos(wᵀy+b)
})

// waves returns the laws of terms of the given variance for the Gaussian kernel.
func waves(variance func(z pair) float64) Exponential {
	return ofTerms(
		func(z pair) product { return product{v: variance(z), norms: 1, dot: -2} },
		func(z pair) float64 { return ConfluentExcess(z.d, -z.q/2) },
		func(z pair) float64 { return SimplexEvenExcess(z.d, -z.q/2) },
	)
}
