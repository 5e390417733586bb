package orf

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/seed-feabd252/randfeat/dense"
)

// GramSchmidt is the law of frequencies in blocks of d: the directions in a block are the columns
// of a Haar-distributed orthogonal d×d matrix [Mezzadri 2007], and the lengths are independent
// draws from the χ law of d degrees of freedom [Yu et al. 2016]. Without FixedLength, every
// frequency of GramSchmidt is a standard Gaussian vector of R^d, but the frequencies of a block are
// orthogonal up to rounding. If d does not divide m, the last block has m mod d frequencies.
type GramSchmidt struct {
	// FixedLength gives frequencies of R^d length √d, which biases estimates of Gaussian kernels.
	FixedLength bool
}

func (GramSchmidt) ensemble() {}

// String returns "GramSchmidt", or "GramSchmidt(FixedLength)" if FixedLength is set.
func (e GramSchmidt) String() string { return describe("GramSchmidt", e.FixedLength, "", 0) }

func gramSchmidt[T dense.Float](e GramSchmidt, m, d int, src rand.Source) (Projection[T], error) {
	w, err := haar(m, d, e.FixedLength, src, func(dense.Matrix[float64]) {})
	if err != nil {
		return nil, err
	}
	return rounded[T](w, e), nil
}

// haar returns m frequencies in blocks of d: rows of Haar-distributed matrices after arrange.
func haar(m, d int, fixed bool, src rand.Source, arrange func(block dense.Matrix[float64])) (dense.Matrix[float64], error) {
	w, err := unrounded(m, d)
	if err != nil {
		return w, err
	}
	rng, length := rand.New(src), lengths(fixed, src)
	for from := 0; from < m; from += d {
		block := w.RowRange(from, min(from+d, m))
		scale := make([]float64, block.Rows)
		for i := range scale {
			gaussian(block.Row(i), rng)
			scale[i] = length(d)
		}
		orthogonalise(block)
		arrange(block)
		for i, s := range scale {
			blas64.Scal(s, blas64.Vector{N: d, Data: block.Row(i), Inc: 1})
		}
	}
	return w, nil
}

// orthogonalise applies Gram–Schmidt to the r ≤ d rows of a: new row i has length 1, a positive
// inner product with old row i, and is orthogonal to the old rows before it. Gaussian rows become
// the first r rows of a Haar-distributed matrix.
func orthogonalise(a dense.Matrix[float64]) {
	q := blas64.General(dense.Transpose(dense.Matrix[float64]{}, a))
	tau := make([]float64, a.Rows)
	work := make([]float64, 1)
	lapack64.Geqrf(q, tau, work, -1)
	work = make([]float64, int(work[0]))
	lapack64.Geqrf(q, tau, work, len(work))
	// The signs of R_ii from Householder reflections depend on Q. The Haar law needs the
	// factorisation in which all are positive.
	signs := make([]float64, a.Rows)
	for i := range signs {
		signs[i] = math.Copysign(1, q.Data[i*q.Stride+i])
	}
	lapack64.Orgqr(q, tau, work, len(work))
	dense.Transpose(a, dense.Matrix[float64](q))
	for i, s := range signs {
		blas64.Scal(s, blas64.Vector{N: a.Cols, Data: a.Row(i), Inc: 1})
	}
}
