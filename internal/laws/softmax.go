package laws

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// SoftmaxTrigIID is the law of the features e^(‖x‖²/2)·[cos(wᵀx), sin(wᵀx)]/√m of
// the softmax kernel,
//
//	MSE = e^p·S⁻²·(1 − e^(−q))²/(2m)
//
// [Choromanski et al. 2021]: that of GaussianIID times e^(‖x‖²+‖y‖²) = e^p·S⁻².
func SoftmaxTrigIID(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	return math.Exp(z.xx+z.yy) * GaussianIID(x, y, m)
}

// SoftmaxTrigORF is the law of the features of SoftmaxTrigIID with orthogonal
// rows: that of GaussianORF times e^(‖x‖²+‖y‖²).
func SoftmaxTrigORF(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	return math.Exp(z.xx+z.yy) * GaussianORF(x, y, m)
}

// SoftmaxPositiveIID is the law of the features exp(wᵀx − ‖x‖²/2)/√m of the
// softmax kernel,
//
//	MSE = S²·(e^p − 1)/m
//
// [Choromanski et al. 2021].
func SoftmaxPositiveIID(x, y []float64, m int) float64 {
	return softmaxPositiveTerm(newPair(x, y, m)) / float64(m)
}

// SoftmaxPositiveORF is the law of the features of SoftmaxPositiveIID with
// orthogonal rows: that law with the covariance
//
//	c = e^(−‖x‖²−‖y‖²)·(₁F₁(d; d/2; p/2) − e^p) ≤ 0
//
// of two rows of a block, for d ≥ 2, by E[exp((v+w)ᵀ(x+y))] with v+w as in
// GaussianORF.
func SoftmaxPositiveORF(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	return blocks(m, z.d, softmaxPositiveTerm(z), softmaxCovariance(z))
}

// SoftmaxHyperbolicIID is the law of the 2m features exp(±wᵀx − ‖x‖²/2)/√(2m) of
// the softmax kernel for m frequencies,
//
//	MSE = S²·(e^p − 1)·(1 − e^(−p))/(2m)
//
// [Choromanski et al. 2021].
func SoftmaxHyperbolicIID(x, y []float64, m int) float64 {
	return softmaxHyperbolicTerm(newPair(x, y, m)) / float64(m)
}

// SoftmaxHyperbolicORF is the law of the features of SoftmaxHyperbolicIID with
// orthogonal rows. The covariance of two rows is that of SoftmaxPositiveORF,
// because −w is orthogonal to v as w is.
func SoftmaxHyperbolicORF(x, y []float64, m int) float64 {
	z := newPair(x, y, m)
	return blocks(m, z.d, softmaxHyperbolicTerm(z), softmaxCovariance(z))
}

// SoftmaxOptimalIID is the law of the features
// (1−4a)^(d/4)·exp(a‖w‖² + √(1−4a)·wᵀx − ‖x‖²/2)/√m of the softmax kernel,
//
//	MSE = ((1−4a)^d·(1−8a)^(−d/2)·exp(2(1−4a)p/(1−8a) − ‖x‖² − ‖y‖²) − S²)/m
//
// [Likhosherstov et al. 2022].
func SoftmaxOptimalIID(a float64) func(x, y []float64, m int) float64 {
	return func(x, y []float64, m int) float64 {
		return softmaxOptimalTerm(newPair(x, y, m), a) / float64(m)
	}
}

// SoftmaxOptimalORF is the law of the features of SoftmaxOptimalIID with orthogonal
// rows. The covariance of two rows is that of SoftmaxPositiveORF, whatever a is: the
// factor (1−4a)^d·exp(2a(‖v‖² + ‖w‖²)) is what turns the law of two rows into that of rows
// longer by 1/√(1−4a), which the slope √(1−4a) undoes.
func SoftmaxOptimalORF(a float64) func(x, y []float64, m int) float64 {
	return func(x, y []float64, m int) float64 {
		z := newPair(x, y, m)
		return blocks(m, z.d, softmaxOptimalTerm(z, a), softmaxCovariance(z))
	}
}

// SoftmaxDampedIID is the law of the features
// det(I−4A)^¼·exp(wᵀAw + wᵀ(I−4A)^½Qᵀx − ‖x‖²/2)/√m of the softmax kernel, with A =
// diag(damping) below 1/8 and the d×d orthogonal matrix Q = basis,
//
//	MSE = (Π_l (1−4a_l)·(1−8a_l)^(−½)·exp(2(1−4a_l)·(Qᵀ(x+y))_l²/(1−8a_l)) · e^(−‖x‖²−‖y‖²) − S²)/m:
//
// the second moment of SoftmaxOptimalIID, [Likhosherstov et al. 2022], one coordinate at a
// time. The map is that of [Likhosherstov et al. 2023]. It panics if points are not in R^d.
func SoftmaxDampedIID(damping []float64, basis dense.Matrix[float64]) func(x, y []float64, m int) float64 {
	return func(x, y []float64, m int) float64 {
		z := newPair(x, y, m)
		sum := make([]float64, len(x))
		floats.AddTo(sum, x, y)
		second := -z.xx - z.yy
		for l, v := range imageOf(dense.Transpose(dense.Matrix[float64]{}, basis), sum) {
			a := damping[l]
			second += math.Log1p(-4*a) - math.Log1p(-8*a)/2 + 2*(1-4*a)*v*v/(1-8*a)
		}
		return (math.Exp(second) - math.Exp(2*z.s)) / float64(m)
	}
}

func softmaxOptimalTerm(z pair, a float64) float64 {
	return math.Exp(optimalSecond(z, a)) - math.Exp(2*z.s)
}

// optimalSecond returns the logarithm of the second moment of one feature's product.
func optimalSecond(z pair, a float64) float64 {
	d := float64(z.d)
	return d*math.Log1p(-4*a) - d/2*math.Log1p(-8*a) + 2*(1-4*a)*z.p/(1-8*a) - z.xx - z.yy
}

// softmaxPositiveTerm returns the variance of exp(wᵀ(x+y) − (‖x‖²+‖y‖²)/2).
func softmaxPositiveTerm(z pair) float64 {
	return math.Exp(2*z.s) * math.Expm1(z.p)
}

// softmaxHyperbolicTerm returns the variance of
// cosh(wᵀ(x+y))·exp(−(‖x‖²+‖y‖²)/2).
func softmaxHyperbolicTerm(z pair) float64 {
	return -math.Expm1(-z.p) * softmaxPositiveTerm(z) / 2
}

func softmaxCovariance(z pair) float64 {
	return math.Exp(-z.xx-z.yy) * ConfluentExcess(z.d, z.p/2)
}
