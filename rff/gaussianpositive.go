package rff

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// GaussianPositive returns the positive features of the Gaussian kernel exp(−‖x−y‖²/(2ℓ²)), where ℓ
// is lengthScale [Likhosherstov et al. 2022],
//
//	φ(x) = exp(−‖x‖²/ℓ²)/√m · [exp(w₁ᵀx/ℓ) … exp(w_mᵀx/ℓ)],
//
// R^d → R^m: the features of SoftmaxPositive for s = 1/ℓ² times exp(−‖x‖²/(2ℓ²)), with logarithms
// too. The map is unbiased for rows of w that are each N(0, I). With independent rows the mean
// squared error is K²·(e^p − 1)/m = (exp(4xᵀy/ℓ²) − K²)/m for the kernel K and p = ‖x+y‖²/ℓ². The
// error of Gaussian is below 1/(2m). The error of GaussianPositive depends on the origin, so centre
// the points. The map is for small norms, and for uses in which no estimate may be negative and no
// sum of estimates may vanish.
//
// GaussianPositive returns an error for a nil w or a lengthScale that is not a positive number in
// the range of T.
func GaussianPositive[T dense.Float](w orf.Projection[T], lengthScale float64) (LogMap[T], error) {
	return build[LogMap[T]](gaussianPositiveRecipe[T]{w, lengthScale})
}

// gaussianPositiveRecipe holds the parts of GaussianPositive that a file stores.
type gaussianPositiveRecipe[T dense.Float] struct {
	W           orf.Projection[T]
	LengthScale float64
}

func newGaussianPositive[T dense.Float](r gaussianPositiveRecipe[T]) (Map[T], error) {
	return gaussianFeatures(r.W, 1, r.LengthScale, mse.Positive, "GaussianPositive", r)
}

// GaussianHyperbolic returns the hyperbolic features of the Gaussian kernel exp(−‖x−y‖²/(2ℓ²)),
// where ℓ is lengthScale: the positive features of every frequency and of its opposite,
//
//	φ(x) = exp(−‖x‖²/ℓ²)/√(2m) · [exp(w₁ᵀx/ℓ) …, exp(−w₁ᵀx/ℓ) …],
//
// R^d → R^2m, in log space as GaussianPositive. The map is unbiased for rows of w that are each
// N(0, I). With p = ‖x+y‖²/ℓ² and independent rows the mean squared error is K²·(e^p − 1)·(1 −
// e^(−p))/(2m) for the kernel K.
//
// GaussianHyperbolic returns an error for a nil w or a lengthScale that is not a positive number in
// the range of T.
func GaussianHyperbolic[T dense.Float](w orf.Projection[T], lengthScale float64) (LogMap[T], error) {
	return build[LogMap[T]](gaussianHyperbolicRecipe[T]{w, lengthScale})
}

// gaussianHyperbolicRecipe holds the parts of GaussianHyperbolic that a file stores.
type gaussianHyperbolicRecipe[T dense.Float] struct {
	W           orf.Projection[T]
	LengthScale float64
}

func newGaussianHyperbolic[T dense.Float](r gaussianHyperbolicRecipe[T]) (Map[T], error) {
	return gaussianFeatures(r.W, 2, r.LengthScale, mse.Hyperbolic, "GaussianHyperbolic", r)
}

// GaussianOptimal returns the optimal positive features of the Gaussian kernel exp(−‖x−y‖²/(2ℓ²)),
// where ℓ is lengthScale [Likhosherstov et al. 2022],
//
//	φ(x) = D·exp(−‖x‖²/ℓ²)/√m · [exp(a‖w₁‖² + B·w₁ᵀx/ℓ) … exp(a‖w_m‖² + B·w_mᵀx/ℓ)],
//	B = √(1−4a), D = (1−4a)^(d/4), a < 1/8,
//
// R^d → R^m, in log space as GaussianPositive, which is the case a = 0. OptimalA chooses a for a
// set of points, with the scale 1/ℓ². The map is unbiased for rows of w that are each N(0, I); its
// mean squared error is the error of SoftmaxOptimal at x/ℓ and y/ℓ times exp(−(‖x‖²+‖y‖²)/ℓ²).
//
// GaussianOptimal returns an error for a nil w, one whose frequencies are too large for memory as a
// matrix, a lengthScale that is not a positive number in the range of T, and an a that is not a
// number below 1/8 or whose features are outside that range.
func GaussianOptimal[T dense.Float](w orf.Projection[T], lengthScale, a float64) (LogMap[T], error) {
	return build[LogMap[T]](gaussianOptimalRecipe[T]{W: w, LengthScale: lengthScale, A: a})
}

// gaussianOptimalRecipe holds the parts of GaussianOptimal that a file stores. Offsets are those of
// softmaxOptimalRecipe.
type gaussianOptimalRecipe[T dense.Float] struct {
	W              orf.Projection[T]
	LengthScale, A float64
	Offsets        []T
}

func newGaussianOptimal[T dense.Float](r gaussianOptimalRecipe[T]) (Map[T], error) {
	if _, err := inverse[T]("lengthScale", r.LengthScale); err != nil {
		return nil, err
	}
	scale := 1 / (r.LengthScale * r.LengthScale)
	var err error
	if r.Offsets, err = optimalOffsets(r.Offsets, r.W, scale, r.A); err != nil {
		return nil, err
	}
	return as[Map[T]](optimal(r.W, scale, 2*scale, r.A, r.Offsets, r, fmt.Sprintf("GaussianOptimal(lengthScale=%v, a=%v)", r.LengthScale, r.A),
		kernels.Gaussian{LengthScale: r.LengthScale},
		mse.OfGaussian("GaussianOptimal", "Likhosherstov et al. 2022", mse.Optimal(r.A), scale)))
}

// gaussianFeatures returns positive features, 1 or 2 (per) for each frequency.
func gaussianFeatures[T dense.Float](w orf.Projection[T], per int, lengthScale float64, terms mse.Exponential, name string, recipe any) (Map[T], error) {
	e, inv, err := newScaledEngine(w, per, inverse[T], "lengthScale", lengthScale)
	if err != nil {
		return nil, err
	}
	scale := 1 / (lengthScale * lengthScale)
	return exponential(e, exponent[T]{slope: inv, radius: 2 * scale, constant: -math.Log(float64(e.out)) / 2},
		recipe, fmt.Sprintf("%s(lengthScale=%v)", name, lengthScale), kernels.Gaussian{LengthScale: lengthScale},
		mse.OfGaussian(name, "Likhosherstov et al. 2022", terms, scale)), nil
}
