package blas

import (
	"fmt"

	gonum "gonum.org/v1/gonum/blas"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// Mul writes A·B into dst (m×n) and returns dst, where A is m×k and B is k×n; a zero dst is
// allocated. dst must not overlap A or B. Rounding and speed are those of Sgemm and Dgemm. Mul
// panics if the shapes do not fit. Cost: m·n·k multiply-adds.
func Mul[T dense.Float](dst, a, b dense.Matrix[T]) dense.Matrix[T] {
	checkFit("Mul", a, b, a.Cols == b.Rows)
	dst = dense.Ensure(dst, a.Rows, b.Cols)
	matmul.Mul(1, a, b, 0, dst)
	return dst
}

// TMul writes Aᵀ·B into dst (m×n) and returns dst, where A is k×m and B is k×n. Everything else is
// as for Mul.
func TMul[T dense.Float](dst, a, b dense.Matrix[T]) dense.Matrix[T] {
	checkFit("TMul", a, b, a.Rows == b.Rows)
	dst = dense.Ensure(dst, a.Cols, b.Cols)
	matmul.TMul(1, a, b, 0, dst)
	return dst
}

// Syrk writes Aᵀ·A, both triangles with the same bits, into dst (n×n) and returns dst, where A is
// k×n: for features of k rows, the matrix of regression. Everything else is as for Mul. Cost:
// n²·k/2 multiply-adds.
func Syrk[T dense.Float](dst, a dense.Matrix[T]) dense.Matrix[T] {
	a.Check()
	n := a.Cols
	dst = dense.Ensure(dst, n, n)
	if a.Rows == 0 {
		for i := range n {
			clear(dst.Row(i))
		}
		return dst
	}
	syrk(usual, gonum.Lower, gonum.Trans, n, a.Rows, 1, a.Data, a.Stride, 0, dst.Data, dst.Stride)
	for i := range n {
		for j, v := range dst.Row(i)[:i] {
			dst.Set(j, i, v)
		}
	}
	return dst
}

// checkFit panics unless the shapes of A and B fit.
func checkFit[T dense.Float](name string, a, b dense.Matrix[T], fit bool) {
	a.Check()
	b.Check()
	if !fit {
		panic(fmt.Sprintf("blas: %s of %d×%d and %d×%d does not fit", name, a.Rows, a.Cols, b.Rows, b.Cols))
	}
}
