package blas

import (
	gonum "gonum.org/v1/gonum/blas"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// orders are the largest orders of blocks on the diagonal that are not halved.
type orders struct {
	triangle int // of Trsm and Trmm, where gonum's routines treat such blocks
	square   int // of Syrk and Symm, which compute both triangles of such blocks
}

var usual = orders{triangle: 16, square: 128}

// slice is the number of columns of B, or of rows if A is on the right, of one parallel task.
const slice = 256

// least is the number of multiply-adds below which gonum's routines are as fast.
const least = 1 << 14

// triangleRoutine is Strsm, Dtrsm, Strmm or Dtrmm.
type triangleRoutine[T dense.Float] func(s gonum.Side, ul gonum.Uplo, tA gonum.Transpose, d gonum.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)

// triangular is one call of Trsm or Trmm.
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

// run applies the routine to B and returns true. It returns false for B without elements, alpha = 0
// and arguments that do not fit.
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

// part applies the routine to one slice of B.
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

// halves applies one half of A after the other, with a product between them.
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
	// Trsm begins with the half whose solution does not depend on the other half. Trmm ends with
	// that half.
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

// add adds f·op(A)·X to Y, or f·X·op(A) if A is on the right.
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

// symmetric is one call of Syrk or Symm.
type symmetric[T dense.Float] struct {
	order       int
	uplo        gonum.Uplo
	trans       bool // of Syrk
	right       bool // of Symm
	alpha, beta T
	full        *scratch.Buffer[T]
}

var buffers pool.Pair[scratch.Buffer[float32], scratch.Buffer[float64]]

// withBuffer calls f with memory for a block on the diagonal.
func (s *symmetric[T]) withBuffer(n int, f func()) {
	s.full = pool.Get[scratch.Buffer[T]](&buffers)
	n = min(n, s.order)
	s.full.Shape(n, n)
	f()
	pool.Put(&buffers, s.full)
}

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
	s := &symmetric[T]{order: o.square, uplo: ul, trans: trans, alpha: alpha, beta: beta}
	s.withBuffer(n, func() { s.square(left, square) })
	return true
}

// square is Syrk for one block on the diagonal of C. It computes the block outside the two halves
// on the diagonal first.
func (s *symmetric[T]) square(a, c dense.Matrix[T]) {
	n := c.Rows
	if n <= s.order {
		full := s.full.Rows(n).ColRange(0, n)
		s.multiply(a, a, 0, full)
		for i := range n {
			lo, hi := s.span(i, n)
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

// multiply computes C = alpha·A·Bᵀ + beta·C, or with Aᵀ·B.
func (s *symmetric[T]) multiply(a, b dense.Matrix[T], beta T, c dense.Matrix[T]) {
	if s.trans {
		matmul.TMul(s.alpha, a, b, beta, c)
	} else {
		matmul.MulT(s.alpha, a, b, beta, c)
	}
}

// span returns the columns of row i of the triangle of order n.
func (s *symmetric[T]) span(i, n int) (lo, hi int) {
	if s.uplo == gonum.Lower {
		return 0, i + 1
	}
	return i, n
}

// symm computes C = alpha·A·B + beta·C, or with B·A, from one triangle of a symmetric A and returns
// true. It returns false for C without elements, alpha = 0 and arguments that do not fit.
func symm[T dense.Float](o orders, side gonum.Side, ul gonum.Uplo, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) bool {
	if m <= 0 || n <= 0 || alpha == 0 || ul != gonum.Lower && ul != gonum.Upper || side != gonum.Left && side != gonum.Right {
		return false
	}
	order := m
	if side == gonum.Right {
		order = n
	}
	square, okA := view(order, order, a, lda, false)
	factor, okB := view(m, n, b, ldb, false)
	product, okC := view(m, n, c, ldc, false)
	if !okA || !okB || !okC {
		return false
	}
	s := &symmetric[T]{order: o.square, uplo: ul, right: side == gonum.Right, alpha: alpha, beta: beta}
	s.withBuffer(order, func() { s.symm(square, factor, product) })
	return true
}

func (s *symmetric[T]) symm(a, b, c dense.Matrix[T]) {
	n := a.Rows
	if n <= s.order {
		full := s.full.Rows(n).ColRange(0, n)
		for i := range n {
			lo, hi := s.span(i, n)
			for j, v := range a.Row(i)[lo:hi] {
				full.Set(i, lo+j, v)
				full.Set(lo+j, i, v)
			}
		}
		s.add(full, false, b, s.beta, c)
		return
	}
	h := n / 2
	splitB, splitC := b.RowRange, c.RowRange
	if s.right {
		splitB, splitC = b.ColRange, c.ColRange
	}
	b1, b2, c1, c2 := splitB(0, h), splitB(h, n), splitC(0, h), splitC(h, n)
	s.symm(a.RowRange(0, h).ColRange(0, h), b1, c1)
	s.symm(a.RowRange(h, n).ColRange(h, n), b2, c2)
	// The block to the right of the first half, or its transpose below.
	lower, rest := s.uplo == gonum.Lower, a.RowRange(0, h).ColRange(h, n)
	if lower {
		rest = a.RowRange(h, n).ColRange(0, h)
	}
	s.add(rest, lower != s.right, b2, 1, c1)
	s.add(rest, lower == s.right, b1, 1, c2)
}

// add computes C = alpha·A·B + beta·C, or with B·A, where A is transposed if trans is set.
func (s *symmetric[T]) add(a dense.Matrix[T], trans bool, b dense.Matrix[T], beta T, c dense.Matrix[T]) {
	switch {
	case s.right && trans:
		matmul.MulT(s.alpha, b, a, beta, c)
	case s.right:
		matmul.Mul(s.alpha, b, a, beta, c)
	case trans:
		matmul.TMul(s.alpha, a, b, beta, c)
	default:
		matmul.Mul(s.alpha, a, b, beta, c)
	}
}
