package semiseparable

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Matrix is the lower-triangular matrix T = Λ + tril(QKᵀ, −1): element (i, j) is λ_i for j = i, 0
// for j > i, and for j < i the inner product q_iᵀk_j of row i of Q and row j of K.
//
// In an n×n Matrix, Q and K are n×d, for any d. Diag holds the n elements of the Matrix on the
// diagonal. A nil Diag means that all elements on the diagonal are 1. A Matrix shares the memory of
// Diag, Q and K, and Q and K may be parts of larger matrices. Methods only read a Matrix, and
// goroutines may share a Matrix. Methods panic if the shapes of Diag, Q and K do not fit.
type Matrix[T dense.Float] struct {
	Diag []T
	Q, K dense.Matrix[T]
}

// Dims returns the order n of the n×n Matrix m and the number d of columns of Q and K.
func (m Matrix[T]) Dims() (n, d int) {
	m.check()
	return m.Q.Rows, m.Q.Cols
}

// Dense writes all n² elements of the n×n Matrix m into dst in O(n²·d) operations, for n×d matrices
// Q and K, and returns dst. Dense allocates a zero-value dst. The argument dst must not overlap Q,
// K or Diag. Dense computes each inner product of rows of Q and K in float64, in a fixed order, and
// rounds once.
func (m Matrix[T]) Dense(dst dense.Matrix[T]) dense.Matrix[T] {
	n, _ := m.Dims()
	dst = dense.Ensure(dst, n, n)
	const grain = 64
	parallel.Rows(n, grain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row, q := dst.Row(i), m.Q.Row(i)
			for j := range i {
				row[j] = vecmath.Dot(q, m.K.Row(j))
			}
			row[i] = m.diag(i)
			clear(row[i+1:])
		}
	})
	return dst
}

func (m Matrix[T]) diag(i int) T {
	if m.Diag == nil {
		return 1
	}
	return m.Diag[i]
}

func (m Matrix[T]) diagRange(from, to int) []T {
	if m.Diag == nil {
		return nil
	}
	return m.Diag[from:to]
}

func (m Matrix[T]) check() {
	diag, q, k := m.Diag, m.Q, m.K
	q.Check()
	k.Check()
	if q.Rows != k.Rows || q.Cols != k.Cols {
		panic(fmt.Sprintf("semiseparable: q is %d×%d, k is %d×%d, want the same shape", q.Rows, q.Cols, k.Rows, k.Cols))
	}
	if diag != nil && len(diag) != q.Rows {
		panic(fmt.Sprintf("semiseparable: diag has %d elements, q is %d×%d, want as many as rows", len(diag), q.Rows, q.Cols))
	}
}
