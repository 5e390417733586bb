package laws

import "math"

// GaussianIID is the law of the features [cos(wᵀx), sin(wᵀx)]/√m of the Gaussian
// kernel,
//
//	MSE = (1 − e^(−q))²/(2m)
//
// [Sutherland & Schneider 2015].
func GaussianIID(x, y []float64, m int) float64 {
	return gaussianTerm(newPair(x, y, m)) / float64(m)
}

// GaussianORF is the law of the same features with orthogonal rows: that of
// GaussianIID with the covariance
//
//	c = ₁F₁(d; d/2; −q/2) − e^(−q)
//
// of two rows of a block, for d ≥ 2.
//
// For rows v, w and z = x−y, E[cos(vᵀz)cos(wᵀz)] = E[cos((v+w)ᵀz)], where v+w
// has a uniform direction and a squared length r² from χ²(2d): the expectation is
// that of ₀F₁(; d/2; −r²q/4), and E[r^(2k)] = 2^k·(d)_k term by term.
func GaussianORF(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	return blocks(m, z.d, gaussianTerm(z), ConfluentExcess(z.d, -z.q/2))
}

// GaussianPhaseIID is the law of the features √(2/m)·cos(wᵀx + b) of the Gaussian
// kernel, with b uniform on [0, 2π),
//
//	MSE = (1 + e^(−2q)/2 − e^(−q))/m
//
// [Sutherland & Schneider 2015].
func GaussianPhaseIID(x, y []float64, m int) float64 {
	return gaussianPhaseTerm(newPair(x, y, m)) / float64(m)
}

// GaussianPhaseORF is the law of the features of GaussianPhaseIID with orthogonal
// rows. The covariance of two rows is that of GaussianORF: their phases are
// independent, and averaging over them leaves cos(vᵀz) and cos(wᵀz).
func GaussianPhaseORF(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	return blocks(m, z.d, gaussianPhaseTerm(z), ConfluentExcess(z.d, -z.q/2))
}

// GaussianFixedMean is the mean of the estimate of the Gaussian kernel when every
// row has length √d and a uniform direction, orthogonal to others or not,
//
//	E[φ(x)ᵀφ(y)] = ₀F₁(; d/2; −d·q/4).
//
// It is not K: fixed lengths are a bias [Demni & Kadri 2024]. It depends on no m.
func GaussianFixedMean(x, y []float64) float64 {
	z := newPair(x, y, 1)
	return ConfluentLimit(z.d, -float64(z.d)*z.q/4)
}

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
