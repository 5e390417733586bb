package orf

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

// NaN or ±Inf in a row makes the whole image NaN, as in a product with a matrix.
type planar[T dense.Float] struct {
	p *givens.Product[T]
}

func (t planar[T]) Apply(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = t.p.Apply(dst, x)
	spread(dst, x)
	return dst
}

func (t planar[T]) ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T] {
	dst = t.p.ApplyTransposed(dst, y)
	spread(dst, y)
	return dst
}

// spread makes the rows of y NaN whose row of x has an element that is not finite.
func spread[T dense.Float](y, x dense.Matrix[T]) {
	for i := range x.Rows {
		if nan := vecmath.HalfSquaredNorm(x.Row(i)); math.IsNaN(nan) {
			layout.Fill(y.Row(i), T(nan))
		}
	}
}
