package laws

import "math"

// The features of the Gaussian kernel that are positive are those of the softmax kernel
// times e^(−‖x‖²/2), and so are their errors [Likhosherstov et al. 2022]. Those with
// independent rows are finite however far from the origin points are, where both factors
// are not.

// GaussianPositiveIID is the law of the features exp(wᵀx − ‖x‖²)/√m of the Gaussian
// kernel,
//
//	MSE = K²·(e^p − 1)/m = e^(4xᵀy)·(1 − e^(−p))/m:
//
// that of SoftmaxPositiveIID times e^(−‖x‖²−‖y‖²).
func GaussianPositiveIID(x, y []float64, m int) float64 {
	return gaussianPositiveTerm(newPair(x, y, m)) / float64(m)
}

// gaussianPositiveTerm returns the variance of exp(wᵀ(x+y) − ‖x‖² − ‖y‖²).
func gaussianPositiveTerm(z pair) float64 {
	return -math.Exp(4*z.s) * math.Expm1(-z.p)
}

// GaussianPositiveORF is the law of the features of GaussianPositiveIID with orthogonal
// rows: that of SoftmaxPositiveORF times e^(−‖x‖²−‖y‖²).
func GaussianPositiveORF(x, y []float64, m int) float64 {
	return centred(SoftmaxPositiveORF)(x, y, m)
}

// GaussianHyperbolicIID is the law of the 2m features exp(±wᵀx − ‖x‖²)/√(2m) of the
// Gaussian kernel for m frequencies,
//
//	MSE = K²·(e^p − 1)·(1 − e^(−p))/(2m).
func GaussianHyperbolicIID(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	return -math.Expm1(-z.p) * gaussianPositiveTerm(z) / (2 * float64(m))
}

// GaussianHyperbolicORF is the law of the features of GaussianHyperbolicIID with
// orthogonal rows: that of SoftmaxHyperbolicORF times e^(−‖x‖²−‖y‖²).
func GaussianHyperbolicORF(x, y []float64, m int) float64 {
	return centred(SoftmaxHyperbolicORF)(x, y, m)
}

// GaussianOptimalIID is the law of the features
// (1−4a)^(d/4)·exp(a‖w‖² + √(1−4a)·wᵀx − ‖x‖²)/√m of the Gaussian kernel,
//
//	MSE = ((1−4a)^d·(1−8a)^(−d/2)·exp(2(1−4a)p/(1−8a) − 2‖x‖² − 2‖y‖²) − K²)/m
//
// [Likhosherstov et al. 2022].
func GaussianOptimalIID(a float64) func(x, y []float64, m int) float64 {
	return func(x, y []float64, m int) float64 {
		z := newPair(x, y, m)
		return (math.Exp(optimalSecond(z, a)-z.xx-z.yy) - math.Exp(-z.q)) / float64(m)
	}
}

// GaussianOptimalORF is the law of the features of GaussianOptimalIID with orthogonal
// rows: that of SoftmaxOptimalORF times e^(−‖x‖²−‖y‖²).
func GaussianOptimalORF(a float64) func(x, y []float64, m int) float64 {
	return centred(SoftmaxOptimalORF(a))
}

// centred returns law times e^(−‖x‖²−‖y‖²).
func centred(law func(x, y []float64, m int) float64) func(x, y []float64, m int) float64 {
	return func(x, y []float64, m int) float64 {
		z := newPair(x, y, m)
		return math.Exp(-z.xx-z.yy) * law(x, y, m)
	}
}

// GaussianPositiveSimplex, GaussianHyperbolicSimplex and GaussianOptimalSimplex are the
// laws of the features of GaussianPositiveIID, GaussianHyperbolicIID and
// GaussianOptimalIID with simplex rows: those of the softmax kernel times e^(−‖x‖²−‖y‖²).
func GaussianPositiveSimplex(x, y []float64, m int) float64 {
	return centred(SoftmaxPositiveSimplex)(x, y, m)
}

// GaussianHyperbolicSimplex is described at GaussianPositiveSimplex.
func GaussianHyperbolicSimplex(x, y []float64, m int) float64 {
	return centred(SoftmaxHyperbolicSimplex)(x, y, m)
}

// GaussianOptimalSimplex is described at GaussianPositiveSimplex.
func GaussianOptimalSimplex(a float64) func(x, y []float64, m int) float64 {
	return centred(SoftmaxOptimalSimplex(a))
}
