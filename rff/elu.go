package rff

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
)

// ELU returns φ(x) = elu(x) + 1 of every coordinate [Katharopoulos et al. 2020],
//
//	φ(t) = t + 1 for t ≥ 0,  e^t for t < 0,
//
// R^d → R^d, the exact map of kernels.ELU. The exponential is not computed as (e^t − 1) + 1, which
// is 0 below t ≈ −17 in float32 and −37 in float64. φ is positive until e^t underflows.
// LogTransform gives log(1 + t) for t ≥ 0 and t itself for t < 0. t = −Inf gives NaN in both,
// because the feature 0 would hide it. dst may be x in every method, and in Backward and
// LogBackward it may be the gradient too.
//
// An error reports a d below 1, or too large for memory.
func ELU[T dense.Float](d int) (LogMap[T], error) {
	return logMap(eluRecipe[T]{d}.make())
}

// eluRecipe is what ELU is made of.
type eluRecipe[T dense.Float] struct{ D int }

func (r eluRecipe[T]) make() (Map[T], error) {
	d := r.D
	if err := size[T]("d", d); err != nil {
		return nil, err
	}
	e := explicit[T](d, d)
	return &positives[T]{
		features: features[T]{
			engine: e,
			frame:  e.named("ELU()", kernels.ELU{}, mse.Law{}).of(r),
			row:    func(phi, x []T, _, _ int) { vecmath.ELU(phi, x) },
			back:   rowwise(e, eluSlope[T]),
		},
		logRow:  func(phi, x []T, _, _ int) { vecmath.LogELU(phi, x) },
		logBack: rowwise(e, logELUSlope[T]),
	}, nil
}
