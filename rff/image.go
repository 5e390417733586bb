package rff

import (
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/pool"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
)

// image turns a positive map φ into one of linear images of points, φ(Px). Where
// frequencies have structure it is points that P works on, which keeps it.
type image[T dense.Float] struct {
	inner *Positive[T]

	// P is the diagonal matrix of factors, or, without any, the d×d matrix of which
	// these are the right operands.
	factors             []T
	operand, transposed matmul.Packed[T] // Pᵀ, P

	folded *folded[T] // nil if points are mapped before they are projected

	works pool.Of[imageWork[T]]
}

// imageRows is how many points are mapped at a time: few enough to stay in cache,
// enough for all processors.
const imageRows = 1024

// imageWork holds the images of some points and gradients with respect to them, and is
// the task of scaling rows.
type imageWork[T dense.Float] struct {
	points, gradients []T

	dst, x  dense.Matrix[T]
	factors []T
}

func (w *imageWork[T]) Piece(block int) {
	lo := block * blockRows
	hi := min(lo+blockRows, w.x.Rows)
	scaleRows(w.dst.RowRange(lo, hi), w.x.RowRange(lo, hi), w.factors)
}

// scaleRows writes the rows of x times factors into dst.
func scaleRows[T dense.Float](dst, x dense.Matrix[T], factors []T) {
	for i := range x.Rows {
		row := dst.Row(i)
		copy(row, x.Row(i))
		vecmath.Multiply(row, factors)
	}
}

// scaled returns the map φ(Px) for P, which is diag(factors).
func (f *Positive[T]) scaled(p *mat.Dense, factors []T) *Positive[T] {
	return f.of(&image[T]{inner: f, factors: factors}, p)
}

// mixed returns the map φ(Px) for P, which is rounded in T.
func (f *Positive[T]) mixed(p *mat.Dense, rounded dense.Matrix[T]) *Positive[T] {
	m := &image[T]{inner: f}
	matmul.PackT(&m.operand, rounded)
	matmul.Pack(&m.transposed, rounded)
	return f.of(m, p)
}

// of returns f behind m, for the matrix p.
func (f *Positive[T]) of(m *image[T], p *mat.Dense) *Positive[T] {
	m.folded = m.fold(p)
	return &Positive[T]{engine: f.engine, kernel: f.kernel, image: m}
}

// apply writes Px of every row of x into dst, or Pᵀx.
func (m *image[T]) apply(w *imageWork[T], dst, x dense.Matrix[T], back bool) {
	switch {
	case m.factors != nil:
		w.dst, w.x, w.factors = dst, x, m.factors
		parallel.Do((x.Rows+blockRows-1)/blockRows, w)
		w.dst, w.x, w.factors = dense.Matrix[T]{}, dense.Matrix[T]{}, nil
	case back:
		matmul.MulPacked(1, x, &m.transposed, 0, dst, nil)
	default:
		matmul.MulPacked(1, x, &m.operand, 0, dst, nil)
	}
}

// transform is Transform, or LogTransform if log is set.
func (m *image[T]) transform(dst, x dense.Matrix[T], log bool) dense.Matrix[T] {
	checkPoints(x, m.inner.in)
	dst = dense.Ensure(dst, x.Rows, m.inner.out)
	if m.folded != nil {
		return m.folded.transform(dst, x, log)
	}
	w := m.works.Get()
	for lo := 0; lo < x.Rows; lo += imageRows {
		hi := min(lo+imageRows, x.Rows)
		points := scratchMatrix(&w.points, hi-lo, x.Cols)
		m.apply(w, points, x.RowRange(lo, hi), false)
		if log {
			m.inner.LogTransform(dst.RowRange(lo, hi), points)
		} else {
			m.inner.Transform(dst.RowRange(lo, hi), points)
		}
	}
	m.works.Put(w)
	return dst
}

// backward is Backward, or LogBackward if log is set, for gradients g, which the caller
// calls name.
func (m *image[T]) backward(name string, dst, x, g dense.Matrix[T], log bool) dense.Matrix[T] {
	checkGradient(name, x, g, m.inner.in, m.inner.out)
	dst = dense.Ensure(dst, x.Rows, m.inner.in)
	w := m.works.Get()
	for lo := 0; lo < x.Rows; lo += imageRows {
		hi := min(lo+imageRows, x.Rows)
		points, gradients := scratchMatrix(&w.points, hi-lo, x.Cols), scratchMatrix(&w.gradients, hi-lo, x.Cols)
		m.apply(w, points, x.RowRange(lo, hi), false)
		if log {
			m.inner.LogBackward(gradients, points, g.RowRange(lo, hi))
		} else {
			m.inner.Backward(gradients, points, g.RowRange(lo, hi))
		}
		m.apply(w, dst.RowRange(lo, hi), gradients, true)
	}
	m.works.Put(w)
	return dst
}
