package matmul

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

// PanelWidth returns the number of columns of a panel for p columns: the width of one vector if p
// columns fit, and otherwise the width of two. A panel is a right operand in the layout that
// kernels read: a matrix of PanelWidth columns without gaps between the rows. A panel should begin
// at a cache line.
func PanelWidth[T Float](p int) int {
	lanes := best[T]().lanes
	if p <= lanes {
		return lanes
	}
	return 2 * lanes
}

// Prefetch starts loading the elements of A into a cache, if the processor can.
func Prefetch[T Float, M Matrix[T]](a M) {
	x := of(a, false)
	expect(&x, 0, x.rows, 0, x.cols)
}

// Strips returns the number of strips into which products divide n rows: as few as registers allow.
// Strip i is the rows from parallel.Share(n, strips, i) to parallel.Share(n, strips, i+1).
func Strips[T Float](n int) int {
	most := best[T]().mostRows()
	return (n + most - 1) / most
}

// SubstitutePanel runs a substitution on the panel B, of n rows: for one strip S of rows after
// another, with the rows U from the first row to the last row of S,
//
//	B_S ← A_SU·B_U
//
// for an n×n matrix A. If transposed is true, SubstitutePanel goes from the last strip to the
// first, with the rows U from the first of S on:
//
//	B_S ← A_USᵀ·B_U.
//
// SubstitutePanel reads no elements of A to the right of the blocks A_SU, or A_US. It computes all
// rows of a strip before it writes the first.
func SubstitutePanel[T Float, M Matrix[T]](a, b M, transposed bool) {
	x, p := of(a, transposed), of(b, false)
	k, n := best[T](), p.rows
	if p.cols != PanelWidth[T](p.cols) || p.stride != p.cols {
		panic(fmt.Sprintf("matmul: %d×%d with stride %d is no panel", p.rows, p.cols, p.stride))
	}
	check(x, n, p.cols, p)
	for i, strips := 0, Strips[T](n); i < strips; i++ {
		at := i
		if transposed {
			at = strips - 1 - i
		}
		lo, hi := parallel.Share(n, strips, at), parallel.Share(n, strips, at+1)
		from, to := 0, hi
		if transposed {
			from, to = lo, n
		}
		c := target[T]{&p.data[lo*p.stride], p.stride, k.lanes}
		k.strip(hi-lo, p.cols/k.lanes)(to-from, leftAt(&x, lo, from), right[T]{first: &p.data[from*p.stride], row: p.stride}, c, 1, 0, 1)
	}
}
