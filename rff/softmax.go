package rff

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
)

// SoftmaxTrig has trigonometric features of the softmax kernel exp(s·xᵀy), s = Scale [Choromanski
// et al. 2021]:
//
//	φ(x) = e^(s‖x‖²/2)/√m · [cos(√s·w₁ᵀx) …, sin(√s·w₁ᵀx) …],  R^d → R^2m.
//
// Features of SoftmaxTrig with Scale s are the features of Gaussian with length-scale 1/√s times
// the factor e^(s‖x‖²/2). Estimates of the kernel by SoftmaxTrig are unbiased for frequencies from
// N(0, I). With Scale s and m independent N(0, I) frequencies, the mean squared error of
// SoftmaxTrig is e^p·K⁻²·(1−e^(−q))²/(2m), where p = s‖x+y‖², q = s‖x−y‖² and K = exp(s·xᵀy).
//
// For points of given norms, the relative error of SoftmaxTrig is largest where the kernel is
// smallest: estimated attention weights of a query may sum to nearly zero, or less; use
// SoftmaxPositive for attention. The factor e^(s‖x‖²/2) in SoftmaxTrig with Scale s overflows to
// Inf once s‖x‖² exceeds 1419 (177 in float32).
type SoftmaxTrig struct {
	Scale float64 // s, above 0
}

func (SoftmaxTrig) perFrequency() int { return 2 }
func (s SoftmaxTrig) String() string  { return fmt.Sprintf("SoftmaxTrig(scale=%v)", s.Scale) }

func softmaxTrig[T dense.Float](s SoftmaxTrig, e engine[T]) (Map[T], error) {
	slope, err := root[T]("scale", s.Scale)
	if err != nil {
		return nil, err
	}
	norm := 1 / math.Sqrt(float64(e.frequencies()))
	law := mse.OfSoftmax("SoftmaxTrig", "Choromanski et al. 2021", mse.Trig, s.Scale)
	return newFeatures(e, kernels.Softmax{Gamma: s.Scale}, law, func(phi, x []T, from, to int) {
		vecmath.Scale(phi[from:to], slope)
		waves(phi, from, to, T(norm*math.Exp(s.Scale*vecmath.HalfSquaredNorm(x))))
	}, trigSlope(e, s.Scale, slope, norm)), nil
}

// SoftmaxPositive has the positive features of the softmax kernel exp(s·xᵀy), s = Scale (FAVOR+)
// [Choromanski et al. 2021]:
//
//	φ(x) = exp(−s‖x‖²/2)/√m · [exp(√s·w₁ᵀx) … exp(√s·w_mᵀx)],  R^d → R^m.
//
// The map of SoftmaxPositive is a LogMap. For each of m frequencies w, LogTransform of
// SoftmaxPositive with Scale s writes √s·wᵀx − s‖x‖²/2 − ½·log m, not the logarithm of a computed
// feature: for s = 1 and ‖x‖ = 30 all features are 0 in float32, while logarithms are accurate.
//
// Estimates of the kernel by SoftmaxPositive are unbiased for frequencies from N(0, I). With Scale
// s and m independent N(0, I) frequencies, the mean squared error of SoftmaxPositive is K²·(e^p −
// 1)/m, where p = s‖x+y‖² and K = exp(s·xᵀy): at points of given norms the error is smallest where
// the kernel is smallest, and orthogonal frequencies lower the error. With Scale s, the logarithm
// of a feature of SoftmaxPositive for a point x of R^d and a frequency w has a rounding error of
// about u·(|√s·wᵀx|·d + s‖x‖²/2) with u = 2⁻⁵³ (2⁻²⁴ in float32); an infinite coordinate gives NaN.
type SoftmaxPositive struct {
	Scale float64 // s, above 0
}

func (SoftmaxPositive) perFrequency() int { return 1 }
func (s SoftmaxPositive) String() string  { return fmt.Sprintf("SoftmaxPositive(scale=%v)", s.Scale) }

// SoftmaxHyperbolic has the hyperbolic features of the softmax kernel exp(s·xᵀy), where s is Scale:
// the positive features of every frequency and of its opposite [Choromanski et al. 2021],
//
//	φ(x) = exp(−s‖x‖²/2)/√(2m) · [exp(√s·w₁ᵀx) …, exp(−√s·w₁ᵀx) …],  R^d → R^2m.
//
// The map of SoftmaxHyperbolic is a LogMap, and estimates of the kernel are unbiased for
// frequencies from N(0, I). With Scale s and m independent N(0, I) frequencies, the mean squared
// error of SoftmaxHyperbolic is K²·(e^p − 1)·(1 − e^(−p))/(2m), for p = s‖x+y‖², K = exp(s·xᵀy): 1
// − e^(−p) times the error of SoftmaxPositive with 2m features, with half the projections.
type SoftmaxHyperbolic struct {
	Scale float64 // s, above 0
}

func (SoftmaxHyperbolic) perFrequency() int { return 2 }
func (s SoftmaxHyperbolic) String() string {
	return fmt.Sprintf("SoftmaxHyperbolic(scale=%v)", s.Scale)
}

// softmaxFeatures returns the positive features of the softmax kernel, 1 or 2 for each frequency.
func softmaxFeatures[T dense.Float](scale float64, terms mse.Exponential, e engine[T]) (Map[T], error) {
	r, err := root[T]("scale", scale)
	if err != nil {
		return nil, err
	}
	return exponential(e, exponent[T]{slope: r, radius: scale, constant: -math.Log(float64(e.out)) / 2},
		kernels.Softmax{Gamma: scale}, mse.OfSoftmax(e.kind(), "Choromanski et al. 2021", terms, scale)), nil
}

// GaussianHyperbolic has the hyperbolic features of the Gaussian kernel exp(−‖x−y‖²/(2ℓ²)): the
// positive features of every frequency and of its opposite,
//
//	φ(x) = exp(−‖x‖²/ℓ²)/√(2m) · [exp(w₁ᵀx/ℓ) …, exp(−w₁ᵀx/ℓ) …],  R^d → R^2m.
//
// The map of GaussianHyperbolic is a LogMap, and estimates of the kernel are unbiased for
// frequencies from N(0, I). With length-scale ℓ, m independent N(0, I) frequencies, p = ‖x+y‖²/ℓ²
// and the kernel K, the mean squared error of GaussianHyperbolic is K²·(e^p − 1)·(1 − e^(−p))/(2m).
type GaussianHyperbolic struct {
	LengthScale float64 // ℓ, above 0
}

func (GaussianHyperbolic) perFrequency() int { return 2 }
func (s GaussianHyperbolic) String() string {
	return fmt.Sprintf("GaussianHyperbolic(lengthScale=%v)", s.LengthScale)
}

// GaussianOptimal has the optimal positive features of the Gaussian kernel exp(−‖x−y‖²/(2ℓ²))
// [Likhosherstov et al. 2022]:
//
//	φ(x) = D·exp(−‖x‖²/ℓ²)/√m · [exp(a‖w₁‖² + B·w₁ᵀx/ℓ) … exp(a‖w_m‖² + B·w_mᵀx/ℓ)],
//	B = √(1−4a), D = (1−4a)^(d/4),  R^d → R^m.
//
// OptimalA with scale = 1/ℓ² chooses the number A of GaussianOptimal with the length-scale ℓ. The
// map of GaussianOptimal is a LogMap, and estimates of the kernel are unbiased for frequencies from
// N(0, I). With length-scale ℓ, the mean squared error of GaussianOptimal at x and y is
// exp(−(‖x‖²+‖y‖²)/ℓ²) times the error of SoftmaxOptimal with Scale 1 and the same A at x/ℓ and
// y/ℓ. The error of GaussianOptimal depends on where the origin is, so centre the points.
// GaussianOptimal is for uses in which no estimate may be negative.
type GaussianOptimal struct {
	LengthScale float64 // ℓ, above 0
	A           float64 // a, below 1/8
}

func (GaussianOptimal) perFrequency() int { return 1 }
func (s GaussianOptimal) String() string {
	return fmt.Sprintf("GaussianOptimal(lengthScale=%v, a=%v)", s.LengthScale, s.A)
}

func gaussianOptimal[T dense.Float](s GaussianOptimal, e engine[T]) (Map[T], error) {
	if _, err := inverse[T]("lengthScale", s.LengthScale); err != nil {
		return nil, err
	}
	scale := 1 / (s.LengthScale * s.LengthScale)
	return optimal(scale, 2*scale, s.A, e, kernels.Gaussian{LengthScale: s.LengthScale},
		mse.OfGaussian("GaussianOptimal", "Likhosherstov et al. 2022", mse.Optimal(s.A), scale))
}

func gaussianHyperbolic[T dense.Float](s GaussianHyperbolic, e engine[T]) (Map[T], error) {
	inv, err := inverse[T]("lengthScale", s.LengthScale)
	if err != nil {
		return nil, err
	}
	scale := 1 / (s.LengthScale * s.LengthScale)
	return exponential(e, exponent[T]{slope: inv, radius: 2 * scale, constant: -math.Log(float64(e.out)) / 2},
		kernels.Gaussian{LengthScale: s.LengthScale}, mse.OfGaussian("GaussianHyperbolic", "Likhosherstov et al. 2022", mse.Hyperbolic, scale)), nil
}
