package orf

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/seed-feabd252/randfeat/dense"
)

// Simplex is the law of frequencies in blocks of d: the directions in a block point to the corners
// of a regular simplex about 0 in R^d, under a Haar-distributed rotation, and the lengths are
// independent draws from the χ law of d degrees of freedom [Reid et al. 2023]. Without FixedLength,
// every frequency of Simplex is a standard Gaussian vector of R^d. The angle between any two
// frequencies of a block is arccos(−1/(d−1)), the largest that all pairs of d vectors can have. If
// d does not divide m, the last block has m mod d frequencies.
//
// Simplex has a lower variance of kernel estimates than GramSchmidt with positive features
// exp(wᵀx), and a higher variance with features that are even in w, such as cos and cosh.
type Simplex struct {
	// FixedLength gives frequencies of R^d length √d, which biases estimates of Gaussian kernels.
	FixedLength bool
}

func (Simplex) ensemble() {}

// String returns "Simplex", or "Simplex(FixedLength)" if FixedLength is set.
func (e Simplex) String() string { return describe("Simplex", e.FixedLength, "", 0) }

func simplex[T dense.Float](e Simplex, m, d int, src rand.Source) (Projection[T], error) {
	w, err := haar(m, d, e.FixedLength, src, spreadToSimplex)
	if err != nil {
		return nil, err
	}
	return rounded[T](w, e), nil
}

// spreadToSimplex replaces orthonormal rows q_i of R^d by unit vectors with products −1/(d−1),
//
//	s_i = b_i·q_i − Σ_{j<i} b_j/(d−j)·q_j,  b_i² = d(d−i)/((d−1)(d−i+1)),  i = 1, 2, …
func spreadToSimplex(q dense.Matrix[float64]) {
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
