package rff

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// SoftmaxTrig returns the trigonometric features of the softmax kernel exp(s·xᵀy), where s is scale
// [Choromanski et al. 2021],
//
//	φ(x) = e^(s‖x‖²/2)/√m · [cos(√s·w₁ᵀx) …, sin(√s·w₁ᵀx) …],
//
// R^d → R^2m: the features of the Gaussian kernel exp(−s‖x−y‖²/2), times a factor that turns it
// into softmax. The map is unbiased for rows of w that are each N(0, I). With independent rows the
// mean squared error is e^p·K⁻²·(1−e^(−q))²/(2m), where p = s‖x+y‖², q = s‖x−y‖² and K =
// exp(s·xᵀy).
//
// The features have both signs, and the relative error is largest where the kernel is smallest: an
// estimated row of attention weights may sum to nearly zero, or less. For attention SoftmaxPositive
// is the better choice. The factor overflows to Inf once s‖x‖² exceeds 1419 (177 in float32).
//
// SoftmaxTrig returns an error for a nil w or a scale that is not a positive number in the range of
// T.
func SoftmaxTrig[T dense.Float](w orf.Projection[T], scale float64) (Map[T], error) {
	return build[Map[T]](softmaxTrigRecipe[T]{w, scale})
}

// softmaxTrigRecipe holds the parts of SoftmaxTrig that a file stores.
type softmaxTrigRecipe[T dense.Float] struct {
	W     orf.Projection[T]
	Scale float64
}

func newSoftmaxTrig[T dense.Float](r softmaxTrigRecipe[T]) (Map[T], error) {
	scale := r.Scale
	e, slope, err := newScaledEngine(r.W, 2, root[T], "scale", scale)
	if err != nil {
		return nil, err
	}
	m := e.frequencies()
	norm := 1 / math.Sqrt(float64(m))
	return &features[T]{
		engine: e,
		frame: e.named(fmt.Sprintf("SoftmaxTrig(scale=%v)", scale), kernels.Softmax{Gamma: scale},
			mse.OfSoftmax("SoftmaxTrig", "Choromanski et al. 2021", mse.Trig, scale)).of(r),
		row: func(phi, x []T, from, to int) {
			vecmath.Scale(phi[from:to], slope)
			waves(phi, from, to, T(norm*math.Exp(scale*vecmath.HalfSquaredNorm(x))))
		},
		back: trigSlope(e, scale, slope, norm),
	}, nil
}

// SoftmaxPositive returns the positive features of the softmax kernel exp(s·xᵀy), where s is scale
// (FAVOR+) [Choromanski et al. 2021],
//
//	φ(x) = exp(−s‖x‖²/2)/√m · [exp(√s·w₁ᵀx) … exp(√s·w_mᵀx)],
//
// R^d → R^m. LogTransform writes √s·wᵀx − s‖x‖²/2 − ½·log m itself, without an exponential;
// Transform, which is its exponential, overflows to Inf above 709.8 (88.7 in float32) and
// underflows to 0 below −745.1 (−103.9). At ‖x‖ = 30, for example, all features are 0 in float32,
// while their logarithms keep their digits, and so do ratios of features. Nothing is added to a
// feature to keep it from zero.
//
// The map is unbiased for rows of w that are each N(0, I). With independent rows the mean squared
// error is K²·(e^p − 1)/m, where p = s‖x+y‖² and K = exp(s·xᵀy): zero for y = −x, so the error is
// smallest where the kernel is. Orthogonal rows lower it.
//
// The logarithm has a rounding error of about u·(|√s·wᵀx|·d + s‖x‖²/2), where u is 2⁻⁵³ or 2⁻²⁴; an
// infinite coordinate gives NaN.
//
// SoftmaxPositive returns an error for a nil w or a scale that is not a positive number in the
// range of T.
func SoftmaxPositive[T dense.Float](w orf.Projection[T], scale float64) (LogMap[T], error) {
	return build[LogMap[T]](softmaxPositiveRecipe[T]{w, scale})
}

// softmaxPositiveRecipe holds the parts of SoftmaxPositive that a file stores.
type softmaxPositiveRecipe[T dense.Float] struct {
	W     orf.Projection[T]
	Scale float64
}

func newSoftmaxPositive[T dense.Float](r softmaxPositiveRecipe[T]) (Map[T], error) {
	return softmaxFeatures(r.W, 1, r.Scale, mse.Positive, "SoftmaxPositive", r)
}

// SoftmaxHyperbolic returns the hyperbolic features of the softmax kernel exp(s·xᵀy), where s is
// scale: the positive features of every frequency and of its opposite [Choromanski et al. 2021],
//
//	φ(x) = exp(−s‖x‖²/2)/√(2m) · [exp(√s·w₁ᵀx) …, exp(−√s·w₁ᵀx) …],
//
// R^d → R^2m, in log space as SoftmaxPositive. The map is unbiased for rows of w that are each N(0,
// I). With independent rows the mean squared error is K²·(e^p − 1)·(1 − e^(−p))/(2m), where p =
// s‖x+y‖² and K = exp(s·xᵀy): below the error of SoftmaxPositive with 2m features, by the factor 1
// − e^(−p), at half the cost of projecting.
//
// SoftmaxHyperbolic returns an error for a nil w or a scale that is not a positive number in the
// range of T.
func SoftmaxHyperbolic[T dense.Float](w orf.Projection[T], scale float64) (LogMap[T], error) {
	return build[LogMap[T]](softmaxHyperbolicRecipe[T]{w, scale})
}

// softmaxHyperbolicRecipe holds the parts of SoftmaxHyperbolic that a file stores.
type softmaxHyperbolicRecipe[T dense.Float] struct {
	W     orf.Projection[T]
	Scale float64
}

func newSoftmaxHyperbolic[T dense.Float](r softmaxHyperbolicRecipe[T]) (Map[T], error) {
	return softmaxFeatures(r.W, 2, r.Scale, mse.Hyperbolic, "SoftmaxHyperbolic", r)
}

// softmaxFeatures returns positive features, 1 or 2 (per) for each frequency.
func softmaxFeatures[T dense.Float](w orf.Projection[T], per int, scale float64, terms mse.Exponential, name string, recipe any) (Map[T], error) {
	e, r, err := newScaledEngine(w, per, root[T], "scale", scale)
	if err != nil {
		return nil, err
	}
	return exponential(e, exponent[T]{slope: r, radius: scale, constant: -math.Log(float64(e.out)) / 2},
		recipe, fmt.Sprintf("%s(scale=%v)", name, scale), kernels.Softmax{Gamma: scale},
		mse.OfSoftmax(name, "Choromanski et al. 2021", terms, scale)), nil
}
