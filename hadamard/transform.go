package hadamard

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/fwht"
)

// Transform replaces x by H·x, where H is the Hadamard matrix Matrix(n) and n = len(x) [Fino and
// Algazi 1976], [Paley 1933]. If n is a power of two, H is the Walsh–Hadamard matrix in natural
// order: H[i][j] = (−1)^popcount(i AND j). For a length n = h·2^k that is no power of two, such as
// 12, 768 or 1000 = 500·2, H may differ from Hᵀ. Divide the result of Transform by √len(x) for the
// orthonormal transform. Transform panics if package hadamard has no Hadamard matrix of order
// len(x): pad x with zeros, best to length FastOrder(len(x)).
//
// Transform takes n·log₂ n additions and subtractions for a power of two n = len(x), and n·(k + h/4
// + 2) for n = h·2^k with Paley's matrix of order h, and no multiplication. Transform uses several
// goroutines if len(x) is a power of two from 2¹⁸ on. Transform allocates only in the first call
// for a length. The order of additions in Transform is fixed. If an element of x is NaN or ±Inf,
// Transform makes all elements of x NaN or ±Inf.
func Transform[T dense.Float](x []T) {
	// A short vector takes less time than the search for its plan.
	switch n := len(x); {
	case n == 2:
		x[0], x[1] = x[0]+x[1], x[0]-x[1]
	case n < fwht.Large && n&(n-1) == 0 && n > 0:
		fwht.Transform(x)
	default:
		transform(planOf("length", len(x)), x)
	}
}

// TransformTransposed replaces x by Hᵀ·x, where H is the Hadamard matrix that Transform multiplies
// by, symmetric for powers of two and many other orders. Divide the result of TransformTransposed
// by len(x) to undo Transform. TransformTransposed has the cost and the panics of Transform.
func TransformTransposed[T dense.Float](x []T) {
	transformTransposed(planOf("length", len(x)), x)
}

// TransformDiagonal writes H·diag(d)·x into dst, where H is the Hadamard matrix of order n =
// len(dst) and diag(d)·x is padded with zeros to length n, best FastOrder(len(x)). The diagonal d
// holds for example random signs, times a scale such as 1/√len(dst). TransformDiagonal costs len(x)
// multiplications and a Transform of length len(dst).
//
// The argument dst may begin with the first element of x, or be disjoint from x; d must not overlap
// dst. TransformDiagonal panics if len(dst) is not the order of a Hadamard matrix, if x is longer
// than dst, and if d and x differ in length. If an element of x or d is NaN or ±Inf and d has no 0,
// no element of dst is finite.
func TransformDiagonal[T dense.Float](dst, x, d []T) {
	p := planOf("length", len(dst))
	if len(x) > len(dst) || len(d) != len(x) {
		panic(fmt.Sprintf("hadamard: x has %d elements and d %d, want the same number, at most the %d of dst", len(x), len(d), len(dst)))
	}
	transformDiagonal(p, dst, x, d)
}

// TransformRows applies Transform to every row of the matrix x, in place and on several goroutines.
// TransformRows allocates nothing after the first call for a length of rows. TransformRows panics
// unless x.Cols is the order of a Hadamard matrix of package hadamard.
func TransformRows[T dense.Float](x dense.Matrix[T]) {
	x.Check()
	rowsTransform[T]{plan: planOf("row length", x.Cols), dst: x}.run(1)
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
