package blas

import (
	gonum "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
)

// Implementation implements gonum's BLAS interfaces. In float32 and float64, Gemm, and Gemv, Syrk,
// Trsm and Trmm of large matrices, run on the matrix products of this module. All other routines of
// Implementation are gonum's. Goroutines may share the zero Implementation.
type Implementation struct{ reference.Implementation }

var (
	_ gonum.Float32 = Implementation{}
	_ gonum.Float64 = Implementation{}
)

// Sgemm computes C = alpha·op(A)·op(B) + beta·C in float32, where op(A) is m×k, op(B) is k×n and C
// is m×n. op(A) is A if the flag tA is NoTrans, and Aᵀ if tA is Trans or ConjTrans; the flag tB
// selects B or Bᵀ likewise. A, B and C are row-major matrices of strides lda, ldb, ldc, and C must
// not overlap A or B. Sgemm does not read C if beta is 0.
//
// NaN and ±Inf in A and B spread to C even if multiplied by zero, unlike in gonum's Sgemm. Results
// do not depend on GOMAXPROCS, but the last bits may differ from gonum's and between types of
// processors. Sgemm panics if gonum's Sgemm panics. Sgemm takes O(m·n·k) operations, on up to
// GOMAXPROCS goroutines, and after the first calls allocates nothing.
func (i Implementation) Sgemm(tA, tB gonum.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if !multiply(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Dgemm computes C = alpha·A·B + beta·C, or with Aᵀ or Bᵀ, in float64, as Sgemm does in float32.
func (i Implementation) Dgemm(tA, tB gonum.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	if !multiply(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Sgemv computes y = alpha·op(A)·x + beta·y in float32, where A is m×n, and op(A) is A if the flag
// tA is NoTrans and Aᵀ if tA is Trans or ConjTrans. In Sgemv, y must not overlap A or x, and beta =
// 0 means that Sgemv does not read y. Sgemv calls gonum's Sgemv if A has fewer than 2²⁰ elements
// (2¹⁴ if transposed), or if the increment incX of x or incY of y is not 1. The results of Sgemv
// agree with those of gonum's Sgemv up to rounding. Sgemv panics if gonum's Sgemv panics.
func (i Implementation) Sgemv(tA gonum.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32, y []float32, incY int) {
	if incX != 1 || incY != 1 || !multiplyVector(tA, m, n, alpha, a, lda, x, beta, y) {
		i.Implementation.Sgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Dgemv computes y = alpha·A·x + beta·y, or with Aᵀ, in float64, as Sgemv does in float32.
func (i Implementation) Dgemv(tA gonum.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	if incX != 1 || incY != 1 || !multiplyVector(tA, m, n, alpha, a, lda, x, beta, y) {
		i.Implementation.Dgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// leastRows is the number of elements of A from which on products with its rows are faster than
// gonum's, because processors share the rows.
const leastRows = 1 << 20

// multiplyVector returns false if gonum's routine is as fast, and in the cases of multiply.
func multiplyVector[T dense.Float](tA gonum.Transpose, m, n int, alpha T, a []T, lda int, x []T, beta T, y []T) bool {
	if trans, _ := transposed(tA); trans {
		return enough(1, m, n) && alpha != 0 && multiply(gonum.NoTrans, gonum.NoTrans, 1, n, m, alpha, x, m, a, lda, beta, y, n)
	}
	return tA == gonum.NoTrans && float64(m)*float64(n) >= leastRows && alpha != 0 && multiply(gonum.NoTrans, gonum.Trans, 1, m, n, alpha, x, n, a, lda, beta, y, m)
}

// multiply computes the product and returns true. It returns false for a product without terms and
// for arguments that do not fit; gonum's routine then does the work or panics.
func multiply[T dense.Float](tA, tB gonum.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) bool {
	if m <= 0 || n <= 0 || k <= 0 {
		return false
	}
	transA, okA := transposed(tA)
	transB, okB := transposed(tB)
	if !okA || !okB {
		return false
	}
	left, okA := view(m, k, a, lda, transA)
	right, okB := view(k, n, b, ldb, transB)
	product, okC := view(m, n, c, ldc, false)
	if !okA || !okB || !okC {
		return false
	}
	switch {
	case transA && transB:
		matmul.TMulT(alpha, left, right, beta, product)
	case transA:
		matmul.TMul(alpha, left, right, beta, product)
	case transB:
		matmul.MulT(alpha, left, right, beta, product)
	default:
		matmul.Mul(alpha, left, right, beta, product)
	}
	return true
}

func transposed(t gonum.Transpose) (trans, ok bool) {
	switch t {
	case gonum.Trans, gonum.ConjTrans:
		return true, true
	}
	return false, t == gonum.NoTrans
}

// view reports whether data is long enough for an r×c matrix, or c×r if trans is set.
func view[T dense.Float](r, c int, data []T, stride int, trans bool) (dense.Matrix[T], bool) {
	if trans {
		r, c = c, r
	}
	rest := len(data) - c
	ok := stride >= c && rest >= 0 && r-1 <= rest/stride
	return dense.Matrix[T]{Rows: r, Cols: c, Data: data, Stride: stride}, ok
}
