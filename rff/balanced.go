package rff

import (
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/matmul"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/pool"
	"github.com/seed-feabd252/randfeat/internal/vecmath"
	"github.com/seed-feabd252/randfeat/kernels"
)

// balanced is a positive map of linearly mapped points, φ(Px). Where frequencies have structure P
// works on the points, which keeps it.
type balanced[T dense.Float] struct {
	inner *positives[T]
	name  string

	// P is the diagonal matrix of factors, or, without any, the d×d matrix of which
	// these are the right operands.
	factors             []T
	operand, transposed matmul.Packed[T] // Pᵀ, P

	absorbed *absorbed[T] // nil if points are mapped before they are projected

	works pool.Of[balancedWork[T]]
}

func (m *balanced[T]) Dims() (in, out int) { return m.inner.Dims() }

func (m *balanced[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return m.forward(dst, x, false)
}

func (m *balanced[T]) LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return m.forward(dst, x, true)
}

func (m *balanced[T]) Backward(dst, x, dphi dense.Matrix[T]) dense.Matrix[T] {
	return m.backward("dphi", dst, x, dphi, false)
}

func (m *balanced[T]) LogBackward(dst, x, dlog dense.Matrix[T]) dense.Matrix[T] {
	return m.backward("dlog", dst, x, dlog, true)
}

func (m *balanced[T]) CanBackward() error { return nil }

func (m *balanced[T]) Kernel() kernels.Kernel { return m.inner.Kernel() }

// Fitted says what the features are fitted to.
func (m *balanced[T]) Fitted() string { return "directions" }

// String returns the constructor with its parameters, and the dimensions.
func (m *balanced[T]) String() string { return describe(m.name, m.inner.in, m.inner.out) }

// mappedRows is how many points are mapped at a time: few enough to stay in cache,
// enough for all processors.
const mappedRows = 1024

// balancedWork holds some mapped points and gradients with respect to them, and is
// the task of scaling rows.
type balancedWork[T dense.Float] struct {
	points, gradients []T

	dst, x  dense.Matrix[T]
	factors []T
}

func (w *balancedWork[T]) Piece(block int) {
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
func (f *positives[T]) scaled(name string, p *mat.Dense, factors []T) *balanced[T] {
	m := &balanced[T]{inner: f, name: name, factors: factors}
	m.absorbed = m.absorb(p)
	return m
}

// mixed returns the map φ(Px) for P, which is rounded in T.
func (f *positives[T]) mixed(name string, p *mat.Dense, rounded dense.Matrix[T]) *balanced[T] {
	m := &balanced[T]{inner: f, name: name}
	matmul.PackT(&m.operand, rounded)
	matmul.Pack(&m.transposed, rounded)
	m.absorbed = m.absorb(p)
	return m
}

// apply writes Px of every row of x into dst, or Pᵀx.
func (m *balanced[T]) apply(w *balancedWork[T], dst, x dense.Matrix[T], back bool) {
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

// forward is Transform, or LogTransform if log is set.
func (m *balanced[T]) forward(dst, x dense.Matrix[T], log bool) dense.Matrix[T] {
	checkPoints(x, m.inner.in)
	dst = dense.Ensure(dst, x.Rows, m.inner.out)
	if m.absorbed != nil {
		return m.absorbed.forward(dst, x, log)
	}
	w := m.works.Get()
	for lo := 0; lo < x.Rows; lo += mappedRows {
		hi := min(lo+mappedRows, x.Rows)
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
func (m *balanced[T]) backward(name string, dst, x, g dense.Matrix[T], log bool) dense.Matrix[T] {
	checkGradient(name, x, g, m.inner.in, m.inner.out)
	dst = dense.Ensure(dst, x.Rows, m.inner.in)
	w := m.works.Get()
	for lo := 0; lo < x.Rows; lo += mappedRows {
		hi := min(lo+mappedRows, x.Rows)
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
