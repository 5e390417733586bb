package dense

import (
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

// leading returns the stride, or one that holds the columns where there is one
// row and the stride is not used: gonum wants that nevertheless.
func leading(stride, cols int) int { return max(stride, cols, 1) }
