package rff

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/orf"
)

// at returns the map φ(Px) of f = φ and first, which is P. Frequencies that are a matrix absorb P.
// The name of the map is the name of f after side.
func (f *positives[T]) at(first *affine[T], side string, law mse.Law) complete[T] {
	c := newComposed[T](first, f)
	c.name, c.kernel, c.law = side+f.String(), f.kernel, law
	if a := f.absorb(c, first.matrix()); a != nil {
		return a
	}
	return c
}

// absorbed computes φ(Px) from x itself, for frequencies that are stored as a matrix: w_kᵀPx is
// (Pᵀw_k)ᵀx. Only the norm of Px is needed besides. Gradients are those of the composition.
type absorbed[T dense.Float] struct {
	*composed[T]
	exponent[T]
	frequencies matmul.Packed[T] // (WP)ᵀ
	works       pool.Of[absorbedWork[T]]
}

// absorbedRows is the number of points whose norms are kept at a time.
const absorbedRows = 1 << 14

// absorb returns c with the matrix P absorbed into the frequencies of f, or nil if W has structure
// that would be lost, or if a column of P is so large or small that its products with frequencies
// might leave the range of T.
func (f *positives[T]) absorb(c *composed[T], p dense.Matrix[float64]) *absorbed[T] {
	w, ok := f.w.(orf.Drawn[T])
	if !ok {
		return nil
	}
	switch w.Ensemble().(type) {
	case orf.Hadamard, orf.Givens:
		return nil
	}
	const limit = 1 << 60
	for j := range p.Cols {
		largest := 0.0
		for i := range p.Rows {
			largest = max(largest, math.Abs(p.At(i, j)))
		}
		if !(largest < limit && largest > 1.0/limit) {
			return nil
		}
	}
	// gonum's product has other bits in a program that has given it another BLAS.
	wp := dense.New[float64](c.out, c.in)
	matmul.Mul(1, dense.Copy(dense.Matrix[float64]{}, f.w.Frequencies()), p, 0, wp)
	a := &absorbed[T]{composed: c, exponent: f.exponent}
	matmul.PackT(&a.frequencies, dense.Copy(dense.Matrix[T]{}, wp))
	return a
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
	w.first.apply(points, w.x.RowRange(lo, hi), nil)
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

func (f *absorbed[T]) Transform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return f.forward(dst, x, false)
}

func (f *absorbed[T]) LogTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	return f.forward(dst, x, true)
}

// forward is Transform, or LogTransform if log is set.
func (f *absorbed[T]) forward(dst, x dense.Matrix[T], log bool) dense.Matrix[T] {
	checkPoints(x, f.in)
	dst = dense.Ensure(dst, x.Rows, f.out)
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
