package dense

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Convert writes src into dst in dst's precision, rounding to nearest even,
// and returns dst; a zero dst is allocated. A float64 beyond the range of
// float32 becomes ±Inf, NaN stays NaN. It panics if the shapes differ.
func Convert[To, From Float](dst Matrix[To], src Matrix[From]) Matrix[To] {
	dst = Ensure(dst, src.Rows, src.Cols)
	for i := range src.Rows {
		to := dst.Row(i)
		for j, v := range src.Row(i) {
			to[j] = To(v)
		}
	}
	return dst
}

// FromMat returns m as a Matrix[T]. When T is float64 and m is row-major and
// unpacked (a mat.RawMatrixer, such as *mat.Dense) the result shares m's
// memory; otherwise it is a copy, rounded to T.
func FromMat[T Float](m mat.Matrix) Matrix[T] {
	if raw, ok := m.(mat.RawMatrixer); ok {
		x := Matrix[float64](raw.RawMatrix())
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
// but no columns or the reverse: an empty m becomes an empty *mat.Dense.
func ToMat[T Float](m Matrix[T]) *mat.Dense {
	if m.Rows == 0 || m.Cols == 0 {
		return &mat.Dense{}
	}
	x, ok := any(m).(Matrix[float64])
	if !ok {
		x = Convert(Matrix[float64]{}, m)
	}
	// gonum wants a stride that holds the columns even where it is not used.
	x.Stride = max(x.Stride, x.Cols)
	var d mat.Dense
	d.SetRawMatrix(blas64.General(x))
	return &d
}
