package rff

import (
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// balanced is a positive map of linearly mapped points, φ(Px). P is applied to the points if the
// frequencies have structure, which stays intact.
type balanced[T dense.Float] struct {
	frame
	inner *positives[T]

	// P is the diagonal matrix of factors. If factors is nil, P is a d×d matrix, and operand and
	// transposed are right operands of products with it.
	factors             []T
	operand, transposed matmul.Packed[T] // Pᵀ, P

	absorbed *absorbed[T] // nil if points are mapped before they are projected

	works pool.Of[balancedWork[T]]
}

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

// mappedRows is the number of points that are mapped at a time: they stay in cache and are enough
// for all processors.
const mappedRows = 1024

// balancedWork holds mapped points and the gradients with respect to them. It is also the task that
// scales rows.
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

// mapped returns the map φ(Px), without P yet.
func (f *positives[T]) mapped(name string) *balanced[T] {
	in, out := f.Dims()
	return &balanced[T]{inner: f, frame: frame{name: name, in: in, out: out, kernel: f.kernel, fitted: "directions"}}
}

// scaled returns the map φ(Px) for P, which is diag(factors).
func (f *positives[T]) scaled(name string, p *mat.Dense, factors []T) *balanced[T] {
	m := f.mapped(name)
	m.factors = factors
	m.absorbed = m.absorb(p)
	return m
}

// mixed returns the map φ(Px); rounded is P in T.
func (f *positives[T]) mixed(name string, p *mat.Dense, rounded dense.Matrix[T]) *balanced[T] {
	m := f.mapped(name)
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
	checkPoints(x, m.in)
	dst = dense.Ensure(dst, x.Rows, m.out)
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

// backward is Backward, or LogBackward if log is set, for gradients g, which the caller calls name.
func (m *balanced[T]) backward(name string, dst, x, g dense.Matrix[T], log bool) dense.Matrix[T] {
	checkGradient(name, x, g, m.in, m.out)
	dst = dense.Ensure(dst, x.Rows, m.in)
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
