package rff

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// DotProduct returns the random projection
//
//	φ(x) = 1/√m · [w₁ᵀx … w_mᵀx],
//
// R^d → R^m, which estimates the dot product xᵀy (Johnson–Lindenstrauss). It is unbiased for rows
// of w with E[wwᵀ] = I. With independent normal rows the mean squared error is ((xᵀy)² +
// ‖x‖²‖y‖²)/m; orthogonal rows lower it [Choromanski, Rowland & Weller 2017].
//
// An error reports a nil w.
func DotProduct[T dense.Float](w orf.Projection[T]) (Map[T], error) {
	return dotProductRecipe[T]{w}.make()
}

// dotProductRecipe is what DotProduct is made of.
type dotProductRecipe[T dense.Float] struct{ W orf.Projection[T] }

func (r dotProductRecipe[T]) make() (Map[T], error) {
	e, err := newEngine(r.W, 1)
	if err != nil {
		return nil, err
	}
	norm := T(1 / math.Sqrt(float64(e.out)))
	return &features[T]{
		engine: e,
		frame:  e.named("DotProduct()", kernels.DotProduct{}, mse.OfDotProduct()).of(r),
		row:    func(phi, _ []T, from, to int) { vecmath.Scale(phi[from:to], norm) },
		back:   linearSlope(e, norm),
	}, nil
}
