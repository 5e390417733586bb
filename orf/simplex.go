package orf

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/seed-feabd252/randfeat/dense"
)

// Simplex returns m frequencies in blocks of d: the directions of a block point
// from the centre to the corners of a regular simplex, turned by a
// Haar-distributed rotation, and the lengths are independent draws from χ(d). Every
// frequency is a standard Gaussian vector, as in IID and GramSchmidt, but the angle
// between any two of a block is arccos(−1/(d−1)): they repel each other, as far
// as d vectors can. The last block has m mod d rows when d does not divide m.
//
// That lowers the variance of positive features exp(wᵀx) below what orthogonal
// frequencies give, and raises it for features that are even in w, such as cos and
// cosh, for which w and −w are the same: there GramSchmidt is better. In R² the
// rows of a block are opposite, in R¹ a block is one row.
//
// Cost: that of GramSchmidt, O(m·d²) operations once; Project is a matrix product,
// O(n·m·d). It returns an error if m < 1, d < 1, m or d is too large for memory,
// src is nil or an option other than FixedLength is given.
//
// Source: [Reid et al. 2023].
func Simplex[T dense.Float](m, d int, src rand.Source, opts ...Option) (Projection[T], error) {
	s, err := configure("Simplex", m, d, src, opts, fixedLength)
	if err != nil {
		return nil, err
	}
	w, err := haar(m, d, s, src, simplex)
	if err != nil {
		return nil, err
	}
	return rounded[T](w, Ensemble{Kind: HaarSimplex, FixedLength: s.fixed, Order: d}), nil
}

// simplex replaces the orthonormal rows q_i of R^d, at most d of them, by unit vectors
// with inner products −1/(d−1),
//
//	s_i = b_i·q_i − Σ_{j<i} b_j/(d−j)·q_j,  b_i² = d(d−i)/((d−1)(d−i+1)),
//
// i = 1, 2, …. Any two sets of such vectors are turned into each other by a
// rotation, which the Haar law swallows. These are the triangular ones: row i is made
// of the rows up to i, and fewer than d rows need no others.
func simplex(q dense.Matrix[float64]) {
	d := float64(q.Cols)
	if d == 1 {
		return
	}
	vector := func(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Data: x, Inc: 1} }
	sum, last := make([]float64, q.Cols), make([]float64, q.Cols)
	for k := range q.Rows {
		rest := d - float64(k+1)
		b := math.Sqrt(d * rest / ((d - 1) * (rest + 1)))
		row := q.Row(k)
		copy(last, row)
		blas64.Scal(b, vector(row))
		blas64.Axpy(1, vector(sum), vector(row))
		if rest > 0 {
			blas64.Axpy(-b/rest, vector(last), vector(sum))
		}
	}
}
