package laws

import "math"

// simplexCosine returns the cosine −1/(d−1) of the angle between two rows of a
// simplex block. In R¹ no two rows share a block.
func simplexCosine(d int) float64 {
	if d == 1 {
		return 0
	}
	return -1 / float64(d-1)
}

// GaussianSimplex is the law of the features of GaussianIID with simplex rows: that
// law with the covariance
//
//	c = ½(ρ(κ) + ρ(−κ)) − e^(−q),  ρ(κ) = E[₁F₁(d; d/2; −(1 + κ·sin 2α)q/2)],
//
// of two rows of a block, at an angle of cosine κ = −1/(d−1), with α as in
// ObliqueExcess: cos(vᵀz)·cos(wᵀz) is the mean of cos((v+w)ᵀz) and cos((v−w)ᵀz).
// It is above that of GaussianORF.
func GaussianSimplex(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	return blocks(m, z.d, gaussianTerm(z), simplexEven(z, -z.q/2))
}

// GaussianPhaseSimplex is the law of the features of GaussianPhaseIID with simplex
// rows, with the covariance of GaussianSimplex.
func GaussianPhaseSimplex(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	return blocks(m, z.d, gaussianPhaseTerm(z), simplexEven(z, -z.q/2))
}

// SoftmaxTrigSimplex is the law of the features of SoftmaxTrigIID with simplex
// rows: that of GaussianSimplex times e^(‖x‖²+‖y‖²).
func SoftmaxTrigSimplex(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	return math.Exp(z.xx+z.yy) * GaussianSimplex(x, y, m)
}

// SoftmaxPositiveSimplex is the law of the features of SoftmaxPositiveIID with
// simplex rows: that law with the covariance
//
//	c = e^(−‖x‖²−‖y‖²)·(E[₁F₁(d; d/2; (1 + κ·sin 2α)p/2)] − e^p) ≤ 0
//
// of two rows of a block, at an angle of cosine κ = −1/(d−1), with α as in
// ObliqueExcess. It is below that of SoftmaxPositiveORF [Reid et al. 2023].
func SoftmaxPositiveSimplex(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	return blocks(m, z.d, softmaxPositiveTerm(z), simplexCovariance(z))
}

// SoftmaxHyperbolicSimplex is the law of the features of SoftmaxHyperbolicIID with
// simplex rows. Here w enters with −w, at the opposite cosine from v: the
// covariance is the mean of those of SoftmaxPositiveSimplex for κ and −κ, above
// that of SoftmaxHyperbolicORF.
func SoftmaxHyperbolicSimplex(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	return blocks(m, z.d, softmaxHyperbolicTerm(z), math.Exp(-z.xx-z.yy)*simplexEven(z, z.p/2))
}

// SoftmaxOptimalSimplex is the law of the features of SoftmaxOptimalIID with simplex
// rows. The covariance of two rows is that of SoftmaxPositiveSimplex, whatever a is:
// the factor of SoftmaxOptimalORF is one of lengths, not of angles.
func SoftmaxOptimalSimplex(a float64) func(x, y []float64, m int) float64 {
	return func(x, y []float64, m int) float64 {
		z := newPair(x, y, m)
		return blocks(m, z.d, softmaxOptimalTerm(z, a), simplexCovariance(z))
	}
}

// DotProductSimplex is the law of the features wᵀx/√m of the dot product with simplex
// rows of the lengths given: DotProductHaar with the covariance
//
//	c = (T − s²)·(κ²d − 1)/(d−1),  κ = −1/(d−1),
//
// of two rows of a block. w is κ times v and √(1−κ²) times a unit vector orthogonal
// to v, up to lengths: E[(vᵀx)(vᵀy)(wᵀx)(wᵀy)] is κ²T and 1−κ² times what it is for
// orthogonal rows, s² − (T − s²)/(d−1).
func DotProductSimplex(x, y []float64, m int, lengths Lengths) float64 {
	z := newPair(x, y, m)
	d, t, cosine := float64(z.d), z.haar(z.d), simplexCosine(z.d)
	v := t - z.s*z.s
	c := v * (cosine*cosine*d - 1) / (d - 1)
	if lengths == Chi {
		v += 2 * t / d
	}
	return blocks(m, z.d, v, c)
}

func simplexCovariance(z pair) float64 {
	return math.Exp(-z.xx-z.yy) * ObliqueExcess(z.d, simplexCosine(z.d), z.p/2)
}

func simplexEven(z pair, t float64) float64 {
	return ObliqueEvenExcess(z.d, simplexCosine(z.d), t)
}
