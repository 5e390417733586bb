package vectors

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
)

const (
	oversample = 16 // additional columns of the range finder
	iterations = 3  // subspace iterations
)

// embed returns U·√Σ (n×dim) for the leading dim singular triples of the symmetric n×n matrix m. It
// uses a randomised range finder with subspace iteration [Halko, Martinsson & Tropp 2011,
// algorithms 4.4 and 5.1].
func embed(m dense.Matrix[float64], dim int, src rand.Source) dense.Matrix[float64] {
	n := m.Rows
	a := gonum.ToMat(m)
	width := min(n, dim+oversample)
	normal := distuv.Normal{Sigma: 1, Src: src}
	start := mat.NewDense(n, width, nil)
	start.Apply(func(_, _ int, _ float64) float64 { return normal.Rand() }, start)
	var y mat.Dense
	y.Mul(a, start)
	q := orthonormal(&y)
	for range iterations {
		y.Mul(a, q)
		q = orthonormal(&y)
	}

	// AQ is the transpose of QᵀA: it has the same singular values, with left and right vectors
	// exchanged.
	y.Mul(a, q)
	var svd mat.SVD
	if !svd.Factorize(&y, mat.SVDThin) {
		panic("vectors: the singular value decomposition did not converge")
	}
	var right, u mat.Dense
	svd.VTo(&right)
	u.Mul(q, &right)
	values := svd.Values(nil)
	x := dense.New[float64](n, dim)
	for i := range n {
		row := x.Row(i)
		for j := range row {
			row[j] = u.At(i, j) * math.Sqrt(values[j])
		}
	}
	return x
}

// orthonormal returns an orthonormal basis of the columns of y (n×k, n ≥ k).
func orthonormal(y *mat.Dense) *mat.Dense {
	var svd mat.SVD
	if !svd.Factorize(y, mat.SVDThin) {
		panic("vectors: the singular value decomposition did not converge")
	}
	var u mat.Dense
	svd.UTo(&u)
	return &u
}
