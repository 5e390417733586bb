package orf

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/givens"
	"github.com/seed-feabd252/randfeat/internal/planerot"
)

// turned is a product of plane rotations as an operator.
//
// Apply and ApplyTransposed make the whole image of a row NaN if an element of
// the row is NaN or ±Inf. Otherwise the elements in use could miss it: no rotation
// may have mixed it into them, where a product with a matrix computes 0·NaN.
type turned[T dense.Float] struct {
	p *givens.Product[T]
}

func (t turned[T]) Dims() (d, order int) { return t.p.Dim(), t.p.Dim() }

func (t turned[T]) Apply(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = t.p.ApplyRows(dst, x)
	spread(dst, x)
	return dst
}

func (t turned[T]) ApplyTransposed(dst, y dense.Matrix[T]) dense.Matrix[T] {
	dst = t.p.ApplyInverseRows(dst, y)
	spread(dst, y)
	return dst
}

// spread makes the rows of y NaN whose row of x has an element that is not finite.
func spread[T dense.Float](y, x dense.Matrix[T]) {
	for i := range x.Rows {
		zero := planerot.Zero(x.Row(i))
		if zero == 0 {
			continue
		}
		row := y.Row(i)
		for j, v := range row {
			row[j] = v + zero
		}
	}
}
