package semiseparable

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Matrix is the lower-triangular n×n matrix with the number λ_i in row i of the diagonal, and the
// inner product q_iᵀk_j of row i of Q (n×d) and row j of K (n×d) in place (i, j) below the
// diagonal. Diag holds the n elements on the diagonal of the Matrix; a nil Diag means ones. A
// Matrix shares the memory of Diag, Q and K, and Q and K may be parts of larger matrices. Methods
// only read a Matrix, and goroutines may share a Matrix. Methods panic if the shapes of Diag, Q and
// K do not fit.
type Matrix[T dense.Float] struct {
	Diag []T
	Q, K dense.Matrix[T]
}

// Dims returns the order n of the n×n Matrix m and the number d of columns of Q and K.
func (m Matrix[T]) Dims() (n, d int) {
	m.check()
	return m.Q.Rows, m.Q.Cols
}

// Dense writes all elements of the n×n Matrix m into dst and returns dst; a zero-value dst is
// allocated. The argument dst must not overlap Q, K or Diag. Dense takes O(n²·d) operations,
// computes each inner product in float64, and rounds once.
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
