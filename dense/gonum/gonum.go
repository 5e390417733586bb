// Package gonum converts matrices of package dense to and from matrices of gonum, without a copy
// where layout and element type allow. It is a package of its own so that package dense does not
// link gonum. A blas64.General needs no function: Go converts it to dense.Matrix[float64] in place.
package gonum

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
)

// FromMat returns x as a dense.Matrix[T], in the memory of x if T is float64 and x is a
// mat.RawMatrixer such as *mat.Dense, or else as a copy rounded to T. FromMat panics if x is nil,
// and if a RawMatrix method of x describes no matrix.
func FromMat[T dense.Float](x mat.Matrix) dense.Matrix[T] {
	if x == nil {
		panic("gonum: x is nil, want a matrix")
	}
	if raw, ok := x.(mat.RawMatrixer); ok {
		m := dense.Matrix[float64](raw.RawMatrix())
		m.Check()
		if same, ok := any(m).(dense.Matrix[T]); ok {
			return same
		}
		return dense.Copy(dense.Matrix[T]{}, m)
	}
	r, c := x.Dims()
	m := dense.New[T](r, c)
	for i := range r {
		row := m.Row(i)
		for j := range row {
			row[j] = T(x.At(i, j))
		}
	}
	return m
}

// ToMat returns m as a *mat.Dense, in the memory of m if T is float64, or else as a copy. An m
// without elements becomes an empty *mat.Dense, because gonum has no matrix with rows and no
// columns, or with columns and no rows. ToMat panics if m.Check panics.
func ToMat[T dense.Float](m dense.Matrix[T]) *mat.Dense {
	m.Check()
	if m.Rows == 0 || m.Cols == 0 {
		return &mat.Dense{}
	}
	x, ok := any(m).(dense.Matrix[float64])
	if !ok {
		x = dense.Copy(dense.Matrix[float64]{}, m)
	}
	x.Stride = max(x.Stride, x.Cols) // gonum checks the stride of a matrix of one row too
	var d mat.Dense
	d.SetRawMatrix(blas64.General(x))
	return &d
}
