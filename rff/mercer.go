package rff

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/kernels"
)

// spectrum is the eigendecomposition of the Gram matrix of some points, eigenvalues in descending
// order.
type spectrum struct {
	values    []float64
	vectors   dense.Matrix[float64] // column k belongs to values[k]
	tolerance float64               // n·ε·|λ|_max: an eigenvalue within it counts as zero
	rank      int                   // eigenvalues above the tolerance
}

// decompose returns the spectrum of the Gram matrix of k on the rows of points. Errors call points
// argument.
func decompose(k kernels.Kernel, argument string, points dense.Matrix[float64]) (spectrum, error) {
	n := points.Rows
	gram := kernels.Gram(dense.Matrix[float64]{}, k, points, dense.Matrix[float64]{})
	for i := range n {
		for j, v := range gram.Row(i)[:i+1] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return spectrum{}, fmt.Errorf("rff: k(%s[%d], %s[%d]) = %v, want a finite number", argument, i, argument, j, v)
			}
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(mat.NewSymDense(n, gram.Data), true) {
		return spectrum{}, fmt.Errorf("rff: the eigendecomposition of the %d×%d Gram matrix of %s did not converge", n, n, argument)
	}
	s := spectrum{values: eig.Values(nil)}
	slices.Reverse(s.values)
	s.tolerance = float64(n) * 0x1p-52 * max(math.Abs(s.values[0]), math.Abs(s.values[n-1]))
	if last := s.values[n-1]; last < -s.tolerance {
		return spectrum{}, fmt.Errorf("rff: the %d×%d Gram matrix of %s is not positive semi-definite: eigenvalue %.3g is below −%.3g", n, n, argument, last, s.tolerance)
	}
	for s.rank < n && s.values[s.rank] > s.tolerance {
		s.rank++
	}
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	s.vectors = ordered(gonum.FromMat[float64](&vectors))
	return s, nil
}

// ordered returns the columns of u in reverse order, upright.
func ordered(u dense.Matrix[float64]) dense.Matrix[float64] {
	n := u.Rows
	v := dense.New[float64](n, n)
	for i := range n {
		copy(v.Row(i), u.Row(i))
		slices.Reverse(v.Row(i))
	}
	return upright(v)
}

// upright gives each column of u the sign that makes its element of largest absolute value (the
// first of them) positive, and returns u: an eigenvector is unique up to its sign.
func upright(u dense.Matrix[float64]) dense.Matrix[float64] {
	for k := range u.Cols {
		peak := 0.0
		for i := range u.Rows {
			if w := u.At(i, k); math.Abs(w) > math.Abs(peak) {
				peak = w
			}
		}
		flip := math.Copysign(1, peak)
		for i := range u.Rows {
			u.Set(i, k, flip*u.At(i, k))
		}
	}
	return u
}

// times returns the first r columns of the vectors, column k multiplied by f(λ_k).
func (s spectrum) times(r int, f func(lambda float64) float64) dense.Matrix[float64] {
	u := s.vectors.ColRange(0, r).Clone()
	for k := range r {
		by := f(s.values[k])
		for i := range u.Rows {
			u.Data[i*u.Stride+k] *= by
		}
	}
	return u
}

func squareRoot(lambda float64) float64 { return math.Sqrt(lambda) }

func inverseRoot(lambda float64) float64 { return 1 / math.Sqrt(lambda) }
