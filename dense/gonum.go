package dense

import (
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// FromMat returns m as a Matrix[T]. When T is float64 and m is row-major and
// unpacked (a mat.RawMatrixer, such as *mat.Dense) the result shares m's
// memory; otherwise it is a copy, rounded to T. It panics if Check does, as for
// a type of your own with a RawMatrix that is none.
func FromMat[T Float](m mat.Matrix) Matrix[T] {
	if raw, ok := m.(mat.RawMatrixer); ok {
		x := Matrix[float64](raw.RawMatrix())
		x.Check()
		if same, ok := any(x).(Matrix[T]); ok {
			return same
		}
		return Convert(Matrix[T]{}, x)
	}
	r, c := m.Dims()
	x := New[T](r, c)
	for i := range r {
		row := x.Row(i)
		for j := range row {
			row[j] = T(m.At(i, j))
		}
	}
	return x
}

// ToMat returns m as a *mat.Dense. When T is float64 it shares m's memory,
// stride included; a float32 matrix is copied. gonum has no matrix with rows
// but no columns or the reverse: an empty m becomes an empty *mat.Dense. It
// panics if Check does.
func ToMat[T Float](m Matrix[T]) *mat.Dense {
	m.Check()
	if m.Rows == 0 || m.Cols == 0 {
		return &mat.Dense{}
	}
	x, ok := any(m).(Matrix[float64])
	if !ok {
		x = Convert(Matrix[float64]{}, m)
	}
	x.Stride = leading(x.Stride, x.Cols)
	var d mat.Dense
	d.SetRawMatrix(blas64.General(x))
	return &d
}

// FromBLAS32 returns x as a Matrix that shares its memory. The fields of
// blas32.General are in another order than those of blas64.General, so that Go
// does not convert it. It panics if Check does.
func FromBLAS32(x blas32.General) Matrix[float32] {
	m := Matrix[float32]{Rows: x.Rows, Cols: x.Cols, Data: x.Data, Stride: x.Stride}
	m.Check()
	return m
}

// ToBLAS32 returns m as a blas32.General that shares its memory. The stride is
// that of m, but at least 1 and Cols, as BLAS wants it even where it does not
// count. It panics if Check does.
func ToBLAS32(m Matrix[float32]) blas32.General {
	m.Check()
	return blas32.General{Rows: m.Rows, Cols: m.Cols, Data: m.Data, Stride: leading(m.Stride, m.Cols)}
}

// leading returns the stride, or one that holds the columns where there is one
// row and the stride is not used: gonum wants that nevertheless.
func leading(stride, cols int) int { return max(stride, cols, 1) }
