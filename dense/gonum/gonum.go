// Package gonum converts matrices of package dense to and from matrices of gonum, without a copy
// where layout and element type allow. It is a package of its own so that package dense does not
// link gonum. A blas64.General needs no function: Go converts it to dense.Matrix[float64] in place.
// The fields of a blas32.General have another order: FromBLAS32 and ToBLAS32 convert it.
package gonum

import (
	"gonum.org/v1/gonum/blas/blas32"
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
	x.Stride = leading(x.Stride, x.Cols)
	var d mat.Dense
	d.SetRawMatrix(blas64.General(x))
	return &d
}

// FromBLAS32 returns x as a dense.Matrix that shares the memory of x, and panics if x is no matrix.
func FromBLAS32(x blas32.General) dense.Matrix[float32] {
	m := dense.Matrix[float32]{Rows: x.Rows, Cols: x.Cols, Data: x.Data, Stride: x.Stride}
	m.Check()
	return m
}

// ToBLAS32 returns m as a blas32.General that shares the memory of m, with a stride of at least 1
// and m.Cols, because BLAS checks the stride even of a single row.
func ToBLAS32(m dense.Matrix[float32]) blas32.General {
	m.Check()
	return blas32.General{Rows: m.Rows, Cols: m.Cols, Data: m.Data, Stride: leading(m.Stride, m.Cols)}
}

// gonum checks the stride of a matrix of one row too.
func leading(stride, cols int) int { return max(stride, cols, 1) }
