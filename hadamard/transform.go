package hadamard

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/fwht"
)

// Transform replaces x by H·x, where H is Matrix(n), n = len(x): the Hadamard
// matrix in Sylvester (natural) order, H[i][j] = (−1)^popcount(i AND j), if n is a
// power of two, and C ⊗ H_2^k if n = h·2^k. It is unnormalised: HᵀH = n·I. Cost:
// n·log₂ n additions and subtractions for a power of two, n·(k + h/4 + 2) for
// others, no multiplication. Powers of two from 2¹⁸ run on several goroutines. It
// does not allocate once an order has been used.
//
// The stages run in ascending order, 1, 2, 4, … 2^k/2, each replacing x[j] and
// x[j+s] by their sum and difference; C comes last and adds the columns of a row
// in groups of four, in ascending order. That fixes every rounding, so all
// implementations agree to the last bit on every machine. If an element is NaN
// or ±Inf, no element of the result is finite.
//
// It panics unless n is an order, that is NextOrder(n) = n. Vectors of other lengths
// are padded with zeros, best to FastOrder(n). Calls on disjoint slices may run at the same time.
//
// Sources: [Fino and Algazi 1976], [Paley 1933].
func Transform[T dense.Float](x []T) {
	// Short vectors take less time than looking up their plan.
	switch n := len(x); {
	case n == 2:
		x[0], x[1] = x[0]+x[1], x[0]-x[1]
	case n < fwht.Large && n&(n-1) == 0 && n > 0:
		fwht.Transform(x)
	default:
		transform(planOf("length", len(x)), x)
	}
}

// TransformTransposed replaces x by Hᵀ·x. Divided by n it undoes Transform. H is symmetric for
// powers of two and for many other orders; the result then equals the result of Transform. Cost,
// rounding and panics are as in Transform.
func TransformTransposed[T dense.Float](x []T) {
	transformTransposed(planOf("length", len(x)), x)
}

// TransformDiagonal writes H·diag(d)·x into dst, n = len(dst), where x is padded with zeros to n,
// best FastOrder(len(x)). d has one element for each of x: random signs, say, times a scale such as
// 1/√n. It costs len(x) multiplications and a Transform.
//
// dst may begin where x begins, or be disjoint from it. d must not overlap dst.
// It panics if n is not an order, if x is longer than dst, or if d and x differ
// in length. If an element of x or d is NaN or ±Inf, no element of dst is
// finite, unless d has a 0.
func TransformDiagonal[T dense.Float](dst, x, d []T) {
	p := planOf("length", len(dst))
	if len(x) > len(dst) || len(d) != len(x) {
		panic(fmt.Sprintf("hadamard: x has %d elements and d %d, want the same number, at most the %d of dst", len(x), len(d), len(dst)))
	}
	transformDiagonal(p, dst, x, d)
}

// TransformRows applies Transform to every row of x, in place, rows in
// parallel; short rows that are adjacent, x.Stride = x.Cols, several at a time. Cost: one Transform
// for each row. It does not allocate once an order has been used. It panics unless x.Cols is an
// order.
func TransformRows[T dense.Float](x dense.Matrix[T]) {
	x.Check()
	p := planOf("row length", x.Cols)
	if alone(p, 1, x.Rows) {
		transformRows(p, x, 0, x.Rows)
		return
	}
	b := newBatch(p, 1, x, x)
	b.run((*transforming[T])(b))
}

func transformRows[T dense.Float](p plan, x dense.Matrix[T], lo, hi int) {
	if adjacent := x.Stride == x.Cols && lo < hi; adjacent && p.core == nil && x.Cols < fwht.Large {
		fwht.TransformBlocks(x.Data[lo*x.Cols:hi*x.Cols], x.Cols)
		return
	}
	for i := lo; i < hi; i++ {
		transform(p, x.Row(i))
	}
}

func transform[T dense.Float](p plan, x []T) {
	transformBlocks(p, x)
	if p.core != nil {
		fwht.ApplyCore(p.core.forward, x, p.width)
	}
}

func transformTransposed[T dense.Float](p plan, x []T) {
	transformBlocks(p, x)
	if p.core != nil {
		fwht.ApplyCore(p.core.transposed, x, p.width)
	}
}

func transformDiagonal[T dense.Float](p plan, dst, x, d []T) {
	fwht.Signed(dst, x, d, p.width)
	if p.core != nil {
		fwht.ApplyCore(p.core.forward, dst, p.width)
	}
}

func transformBlocks[T dense.Float](p plan, x []T) {
	if p.core == nil {
		fwht.TransformLarge(x)
		return
	}
	fwht.TransformBlocks(x, p.width)
}
