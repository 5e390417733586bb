package blas

import (
	gonum "gonum.org/v1/gonum/blas"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// orders are the largest orders of diagonal blocks that the routines do not halve.
type orders struct {
	triangle int // for Trsm and Trmm, which pass such blocks to gonum's routines
	square   int // for Syrk, which computes both triangles of such blocks
}

var usual = orders{triangle: 16, square: 128}

// slice is the number of columns of B per parallel task, or of rows of B if A is on the right.
const slice = 256

// least is the number of multiply-adds below which gonum's routines are as fast.
const least = 1 << 14

type triangleRoutine[T dense.Float] func(s gonum.Side, ul gonum.Uplo, tA gonum.Transpose, d gonum.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)

type triangular[T dense.Float] struct {
	own   triangleRoutine[T] // gonum's routine
	solve bool               // Trsm and not Trmm
	order int
	side  gonum.Side
	uplo  gonum.Uplo
	tA    gonum.Transpose
	trans bool
	diag  gonum.Diag
	alpha T
}

// run returns false for B without elements, alpha = 0 and arguments that do not fit.
func (c triangular[T]) run(m, n int, a []T, lda int, b []T, ldb int) bool {
	trans, ok := transposed(c.tA)
	if m <= 0 || n <= 0 || c.alpha == 0 || !ok || c.uplo != gonum.Lower && c.uplo != gonum.Upper ||
		c.diag != gonum.Unit && c.diag != gonum.NonUnit || c.side != gonum.Left && c.side != gonum.Right {
		return false
	}
	c.trans = trans
	order, others := m, n
	if c.side == gonum.Right {
		order, others = n, m
	}
	left, okA := view(order, order, a, lda, false)
	right, okB := view(m, n, b, ldb, false)
	if !okA || !okB {
		return false
	}
	parallel.Rows(others, slice, func(lo, hi int) {
		part := right.RowRange
		if c.side == gonum.Left {
			part = right.ColRange
		}
		c.part(left, part(lo, hi))
	})
	return true
}

func (c triangular[T]) part(a, b dense.Matrix[T]) {
	if c.solve && c.alpha != 1 {
		for i := range b.Rows {
			for j := range b.Row(i) {
				b.Row(i)[j] *= c.alpha
			}
		}
		c.alpha = 1
	}
	c.halves(a, b)
}

func (c *triangular[T]) halves(a, b dense.Matrix[T]) {
	n := a.Rows
	if n <= c.order {
		c.own(c.side, c.uplo, c.tA, c.diag, b.Rows, b.Cols, c.alpha, a.Data, a.Stride, b.Data, b.Stride)
		return
	}
	h := n / 2
	split := b.ColRange
	if c.side == gonum.Left {
		split = b.RowRange
	}
	a1, a2, b1, b2 := a.RowRange(0, h).ColRange(0, h), a.RowRange(h, n).ColRange(h, n), split(0, h), split(h, n)
	rest := a.RowRange(0, h).ColRange(h, n)
	if c.uplo == gonum.Lower {
		rest = a.RowRange(h, n).ColRange(0, h)
	}
	// Trsm begins with the half whose solution does not depend on the other, and Trmm ends with it.
	lower := (c.uplo == gonum.Lower) != c.trans
	if lower != (c.side == gonum.Left) {
		a1, a2, b1, b2 = a2, a1, b2, b1
	}
	if c.solve {
		c.halves(a1, b1)
		c.add(-1, rest, b1, b2)
		c.halves(a2, b2)
	} else {
		c.halves(a2, b2)
		c.add(c.alpha, rest, b1, b2)
		c.halves(a1, b1)
	}
}

func (c *triangular[T]) add(f T, a, x, y dense.Matrix[T]) {
	switch {
	case c.side == gonum.Left && c.trans:
		matmul.TMul(f, a, x, 1, y)
	case c.side == gonum.Left:
		matmul.Mul(f, a, x, 1, y)
	case c.trans:
		matmul.MulT(f, x, a, 1, y)
	default:
		matmul.Mul(f, x, a, 1, y)
	}
}

type symmetric[T dense.Float] struct {
	order       int
	uplo        gonum.Uplo
	trans       bool
	alpha, beta T
	full        *scratch.Buffer[T] // memory for a block on the diagonal
}

var buffers pool.Pair[scratch.Buffer[float32], scratch.Buffer[float64]]

// syrk computes one triangle of C = alpha·A·Aᵀ + beta·C, or with Aᵀ·A, and returns true. It returns
// false for C without elements, a product without terms, alpha = 0 and arguments that do not fit.
func syrk[T dense.Float](o orders, ul gonum.Uplo, tA gonum.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) bool {
	trans, ok := transposed(tA)
	if n <= 0 || k <= 0 || alpha == 0 || !ok || ul != gonum.Lower && ul != gonum.Upper {
		return false
	}
	left, okA := view(n, k, a, lda, trans)
	square, okC := view(n, n, c, ldc, false)
	if !okA || !okC {
		return false
	}
	s := symmetric[T]{o.square, ul, trans, alpha, beta, pool.Get[scratch.Buffer[T]](&buffers)}
	s.full.Shape(min(n, s.order), min(n, s.order))
	s.square(left, square)
	pool.Put(&buffers, s.full)
	return true
}

// The block between the two halves of the diagonal comes first.
func (s *symmetric[T]) square(a, c dense.Matrix[T]) {
	n := c.Rows
	if n <= s.order {
		full := s.full.Rows(n).ColRange(0, n)
		s.multiply(a, a, 0, full)
		for i := range n {
			lo, hi := 0, i+1
			if s.uplo == gonum.Upper {
				lo, hi = i, n
			}
			to, from := c.Row(i)[lo:hi], full.Row(i)[lo:hi]
			if s.beta == 0 {
				copy(to, from)
				continue
			}
			for j, v := range from {
				to[j] = s.beta*to[j] + v
			}
		}
		return
	}
	h := n / 2
	split := a.RowRange
	if s.trans {
		split = a.ColRange
	}
	a1, a2 := split(0, h), split(h, n)
	if s.uplo == gonum.Lower {
		s.multiply(a2, a1, s.beta, c.RowRange(h, n).ColRange(0, h))
	} else {
		s.multiply(a1, a2, s.beta, c.RowRange(0, h).ColRange(h, n))
	}
	s.square(a1, c.RowRange(0, h).ColRange(0, h))
	s.square(a2, c.RowRange(h, n).ColRange(h, n))
}

func (s *symmetric[T]) multiply(a, b dense.Matrix[T], beta T, c dense.Matrix[T]) {
	if s.trans {
		matmul.TMul(s.alpha, a, b, beta, c)
	} else {
		matmul.MulT(s.alpha, a, b, beta, c)
	}
}
