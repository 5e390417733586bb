package rff

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
)

// SoftmaxTrig has cosines and sines as features of exp(s·xᵀy), s = Scale [Choromanski et al. 2021]:
//
//	φ(x) = e^(s‖x‖²/2)/√m · [cos(√s·w₁ᵀx) …, sin(√s·w₁ᵀx) …],  R^d → R^2m.
//
// Estimates of the kernel by SoftmaxTrig are unbiased for frequencies from N(0, I), with the mean
// squared error e^p·K⁻²·(1−e^(−q))²/(2m) for m independent frequencies, p = s‖x+y‖², q = s‖x−y‖²
// and K = exp(s·xᵀy). The relative error of SoftmaxTrig is largest where the kernel is smallest, so
// that estimated attention weights may sum to nearly zero, or less; use SoftmaxPositive for
// attention. The factor e^(s‖x‖²/2) in SoftmaxTrig is Inf once s‖x‖² exceeds 1419 (177 in float32).
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

// SoftmaxPositive has positive features of the softmax kernel exp(s·xᵀy), s = Scale (FAVOR+)
// [Choromanski et al. 2021]:
//
//	φ(x) = exp(−s‖x‖²/2)/√m · [exp(√s·w₁ᵀx) … exp(√s·w_mᵀx)],  R^d → R^m.
//
// The map of SoftmaxPositive is a LogMap. For a frequency w, LogTransform of SoftmaxPositive writes
// √s·wᵀx − s‖x‖²/2 − ½·log m, not the logarithm of a computed feature: for s = 1 and ‖x‖ = 30 all
// features are 0 in float32, while logarithms are accurate. The logarithm of a feature has a
// rounding error of about u·(|√s·wᵀx|·d + s‖x‖²/2), with u = 2⁻⁵³ for float64 and 2⁻²⁴ for float32.
// An infinite coordinate gives NaN.
//
// Estimates of the kernel by SoftmaxPositive are unbiased for frequencies from N(0, I). With m
// independent N(0, I) frequencies, the mean squared error of SoftmaxPositive is K²·(e^p − 1)/m,
// where p = s‖x+y‖² and K = exp(s·xᵀy): at points of given norms the error is smallest where the
// kernel is smallest. Orthogonal frequencies lower the error.
type SoftmaxPositive struct {
	Scale float64 // s, above 0
}

func (SoftmaxPositive) perFrequency() int { return 1 }
func (s SoftmaxPositive) String() string  { return fmt.Sprintf("SoftmaxPositive(scale=%v)", s.Scale) }

// SoftmaxHyperbolic has positive features of the softmax kernel exp(s·xᵀy), s = Scale, for every
// frequency and for the opposite frequency [Choromanski et al. 2021]:
//
//	φ(x) = exp(−s‖x‖²/2)/√(2m) · [exp(√s·w₁ᵀx) …, exp(−√s·w₁ᵀx) …],  R^d → R^2m.
//
// The map of SoftmaxHyperbolic is a LogMap, and is unbiased for frequencies from N(0, I). With m
// independent N(0, I) frequencies, the mean squared error of SoftmaxHyperbolic is K²·(e^p − 1)·(1 −
// e^(−p))/(2m), for p = s‖x+y‖² and K = exp(s·xᵀy).
type SoftmaxHyperbolic struct {
	Scale float64 // s, above 0
}

func (SoftmaxHyperbolic) perFrequency() int { return 2 }
func (s SoftmaxHyperbolic) String() string {
	return fmt.Sprintf("SoftmaxHyperbolic(scale=%v)", s.Scale)
}

func softmaxFeatures[T dense.Float](scale float64, terms mse.Exponential, e engine[T]) (Map[T], error) {
	r, err := root[T]("scale", scale)
	if err != nil {
		return nil, err
	}
	return exponential(e, exponent[T]{slope: r, scale: scale, constant: -math.Log(float64(e.out)) / 2}, terms, "Choromanski et al. 2021"), nil
}
