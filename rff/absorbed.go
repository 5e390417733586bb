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
	w, ok := m.inner.w.(interface{ Ensemble() orf.Ensemble })
	if !ok {
		return nil
	}
	switch w.Ensemble().(type) {
	case orf.Hadamard, orf.Givens, orf.Fastfood:
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
