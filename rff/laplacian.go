package rff

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// Laplacian returns the random Fourier features of the Laplacian kernel k(x, y) = exp(−‖x−y‖₁/ℓ),
// where ℓ is lengthScale [Rahimi & Recht 2007],
//
//	φ(x) = 1/√m · [cos(w₁ᵀx) … cos(w_mᵀx), sin(w₁ᵀx) … sin(w_mᵀx)],
//
// R^d → R^2m. The m·d coordinates of the frequencies are drawn from src, row by row: independent
// and Cauchy with scale 1/ℓ, the spectral law of the kernel. That law is not isotropic, so that
// package orf does not draw from it. The map is unbiased and ‖φ(x)‖ = 1. Its mean squared error is
// (1 + k(2x, 2y) − 2k(x, y)²)/(2m).
//
// Cauchy frequencies are sometimes huge: a share of 2‖x‖₁/(πℓt) of the phases wᵀx exceeds t. A
// phase has a rounding error of up to d·u·Σ|w_j x_j|, where u is 2⁻²⁴ for float32 and 2⁻⁵³ for
// float64. So a few features of a float32 map have no correct digit. That is harmless for ‖x‖₁
// below some 10³·ℓ. At ‖x‖₁ = 100ℓ and d = 64, one feature in 10⁵ was off by half its range, a
// feature by 6e-5 of its range on average, and the estimate, a mean over all features, by 4e-6.
// Centre data that are further out, or use float64.
//
// An error reports an m or d below 1, or too large for memory, a lengthScale that is not a positive
// number in the range of T, and a nil src.
func Laplacian[T dense.Float](m, d int, lengthScale float64, src rand.Source) (Map[T], error) {
	cauchy := func(rng *rand.Rand) float64 { return math.Tan(math.Pi * (rng.Float64() - 0.5)) }
	w, err := drawn[T](m, d, "lengthScale", lengthScale, src, cauchy)
	if err != nil {
		return nil, err
	}
	return laplacianRecipe[T]{w, lengthScale}.make()
}

// laplacianRecipe is what Laplacian is made of.
type laplacianRecipe[T dense.Float] struct {
	W           orf.Projection[T]
	LengthScale float64
}

func (r laplacianRecipe[T]) make() (Map[T], error) {
	e, inv, err := newScaledEngine(r.W, 2, inverse[T], "lengthScale", r.LengthScale)
	if err != nil {
		return nil, err
	}
	name, k := fmt.Sprintf("Laplacian(lengthScale=%v)", r.LengthScale), kernels.Laplacian{LengthScale: r.LengthScale}
	scale := 1 / (r.LengthScale * r.LengthScale)
	law := mse.OfSketch("Laplacian", "Sutherland & Schneider 2015", scale, e.frequencies(), mse.LaplacianIID)
	return trigonometric(e, inv, nil, r, name, k, law), nil
}
