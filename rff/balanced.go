package rff

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/orf"
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
	return &balanced[T]{inner: f, frame: frame{name: name, in: in, out: out, kernel: f.kernel}}
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

// absorbed computes φ(Px) from x itself, for frequencies that are stored as a matrix: w_kᵀPx is
// (Pᵀw_k)ᵀx. Only the norm of Px is needed besides.
type absorbed[T dense.Float] struct {
	*balanced[T]
	exponent[T]
	frequencies matmul.Packed[T] // (WP)ᵀ
	works       pool.Of[absorbedWork[T]]
}

// absorbedRows is the number of points whose norms are kept at a time.
const absorbedRows = 1 << 14

// absorb returns m with the matrix P absorbed into its frequencies, or nil if W has structure that
// would be lost, or if a column of P is so large or small that its products with frequencies might
// leave the range of T.
func (m *balanced[T]) absorb(p *mat.Dense) *absorbed[T] {
	w, ok := m.inner.w.(orf.Drawn[T])
	if !ok {
		return nil
	}
	switch w.Ensemble().(type) {
	case orf.Hadamard, orf.Givens:
		return nil
	}
	const limit = 1 << 60
	rows, cols := p.Dims()
	for j := range cols {
		largest := 0.0
		for i := range rows {
			largest = max(largest, math.Abs(p.At(i, j)))
		}
		if !(largest < limit && largest > 1.0/limit) {
			return nil
		}
	}
	wp := dense.Copy(dense.Matrix[float64]{}, m.inner.w.Frequencies())
	if m.factors != nil {
		for i := range wp.Rows {
			for j := range cols {
				wp.Row(i)[j] *= p.At(j, j)
			}
		}
	} else {
		// gonum's product has other bits in a program that has given it another BLAS.
		product := dense.New[float64](wp.Rows, cols)
		matmul.Mul(1, wp, gonum.FromMat[float64](p), 0, product)
		wp = product
	}
	f := &absorbed[T]{balanced: m, exponent: m.inner.exponent}
	matmul.PackT(&f.frequencies, dense.Copy(dense.Matrix[T]{}, wp))
	return f
}

// absorbedWork is the task that writes the levels of blocks of rows, and the epilogue of the
// projection.
type absorbedWork[T dense.Float] struct {
	*absorbed[T]
	dst, x  dense.Matrix[T]
	log     bool
	levels  []T // −radius·‖Px‖²/2, in scratch
	scratch []T
	blocks  pool.Of[[]T]
}

func (w *absorbedWork[T]) Piece(block int) {
	lo := block * blockRows
	hi := min(lo+blockRows, w.x.Rows)
	s := w.blocks.Get()
	points := scratchMatrix(s, hi-lo, w.x.Cols)
	if x := w.x.RowRange(lo, hi); w.factors != nil {
		scaleRows(points, x, w.factors)
	} else {
		matmul.MulPacked(1, x, &w.operand, 0, points, nil)
	}
	for i := range points.Rows {
		w.levels[lo+i] = w.level(points.Row(i))
	}
	w.blocks.Put(s)
}

func (w *absorbedWork[T]) Finish(lo, hi, from, to int) {
	offsets := w.offsets[from:to]
	for i := lo; i < hi; i++ {
		t := w.dst.Row(i)[from:to]
		vecmath.AffineEach(t, w.slope, offsets, w.levels[i])
		if !w.log {
			vecmath.Exp(t, t)
		}
	}
}

// forward is Transform, or LogTransform if log is set.
func (f *absorbed[T]) forward(dst, x dense.Matrix[T], log bool) dense.Matrix[T] {
	w := f.works.Get()
	w.absorbed, w.log = f, log
	for lo := 0; lo < x.Rows; lo += absorbedRows {
		hi := min(lo+absorbedRows, x.Rows)
		w.dst, w.x = dst.RowRange(lo, hi), x.RowRange(lo, hi)
		w.levels = scratchMatrix(&w.scratch, 1, hi-lo).Data
		parallel.Do((hi-lo+blockRows-1)/blockRows, w)
		matmul.MulPacked(1, w.x, &f.frequencies, 0, w.dst, w)
	}
	w.dst, w.x = dense.Matrix[T]{}, dense.Matrix[T]{}
	f.works.Put(w)
	return dst
}
