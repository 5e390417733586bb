package rff_test

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// newMap is New of the functions h and f, which fit.
func newMap[T dense.Float](w orf.Projection[T], h func(x []T) T, f ...func(t T) T) rff.Map[T] {
	m, err := rff.New(w, rff.Scheme[T]{F: f, H: h})
	if err != nil {
		panic(err)
	}
	return m
}

// slopes returns m, which is Differentiable.
func slopes[T dense.Float](m rff.Map[T]) rff.Differentiable[T] { return m.(rff.Differentiable[T]) }

// logSlopes returns m, which is a DifferentiableLog.
func logSlopes[T dense.Float](m rff.LogMap[T]) rff.DifferentiableLog[T] {
	return m.(rff.DifferentiableLog[T])
}
