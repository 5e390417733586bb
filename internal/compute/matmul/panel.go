package matmul

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// PanelWidth returns the number of columns of a panel for p columns: the width of one vector if p
// columns fit, and otherwise the width of two.
//
// A panel is a right operand in the layout that kernels read, so that a product need not pack it: a
// matrix of PanelWidth columns without gaps between the rows. A panel should begin at a cache line.
// Unused columns are zero. A product can write a panel, which is then an operand of other products.
func PanelWidth[T Float](p int) int {
	lanes := best[T]().lanes
	if p <= lanes {
		return lanes
	}
	return 2 * lanes
}

// PackPanel copies B to the panel P, which has the same number of rows, and PanelWidth[T](n)
// columns for the n columns of B.
func PackPanel[T Float, M Matrix[T]](p, b M) {
	to, from := view[T](of(p, false)), view[T](of(b, false))
	checkPanel(to, from)
	if k := best[T](); from.rows > 0 {
		packPanel(k, to.data, from.data, from.rows, to.cols/k.lanes, from.cols, from.stride, 1)
	}
}

// UnpackPanel copies the panel P to B, as PackPanel copies B to P.
func UnpackPanel[T Float, M Matrix[T]](b, p M) {
	to, from := view[T](of(b, false)), view[T](of(p, false))
	checkPanel(from, to)
	k := best[T]()
	if k.unpacks == nil {
		for i := range to.rows {
			copy(to.data[i*to.stride:][:to.cols], from.data[i*from.stride:])
		}
	} else if to.rows > 0 {
		vectors := from.cols / k.lanes
		k.unpacks[vectors-1](to.rows, &to.data[0], &from.data[0], to.stride*simd.Size[T](), to.cols-(vectors-1)*k.lanes)
	}
}

// checkPanel panics unless p is a panel for b.
func checkPanel[T Float](p, b view[T]) {
	if b.cols == 0 || p.rows != b.rows || p.cols != PanelWidth[T](b.cols) || p.stride != p.cols || b.cols > p.cols {
		panic(fmt.Sprintf("matmul: %d×%d with stride %d is no panel for %d×%d", p.rows, p.cols, p.stride, b.rows, b.cols))
	}
}

// Prefetch starts loading the elements of A into a cache, on processors with an instruction for
// this. It does not wait for the elements.
func Prefetch[T Float, M Matrix[T]](a M) {
	v := view[T](of(a, false))
	v.expect(0, v.rows, 0, v.cols)
}

// MulPanel computes C = α·A·B + β·C for a panel B, on the calling goroutine. C has the columns of
// B, or fewer that take the same number of vectors. The rest is as for Mul, with the same bits.
func MulPanel[T Float, M Matrix[T]](alpha T, a, b M, beta T, c M) {
	mulPanel(alpha, view[T](of(a, false)), view[T](of(b, false)), beta, view[T](of(c, false)))
}

// TMulPanel is MulPanel for Aᵀ.
func TMulPanel[T Float, M Matrix[T]](alpha T, a, b M, beta T, c M) {
	mulPanel(alpha, view[T](of(a, true)), view[T](of(b, false)), beta, view[T](of(c, false)))
}

func mulPanel[T Float](alpha T, a, b view[T], beta T, c view[T]) {
	k := best[T]()
	vectors := b.cols / k.lanes
	last := c.cols - (vectors-1)*k.lanes
	if b.cols != PanelWidth[T](b.cols) || b.stride != b.cols || last <= 0 || last > k.lanes {
		panic(fmt.Sprintf("matmul: %d×%d with stride %d is no panel for %d×%d", b.rows, b.cols, b.stride, c.rows, c.cols))
	}
	check(a, b.rows, c.cols, c)
	if b.rows == 0 {
		(&call[T]{beta: beta, c: c}).scale(0, c.rows, 0, c.cols)
		return
	}
	for block := 0; block < b.rows; block += depth {
		n := min(depth, b.rows-block)
		for i, strips := 0, Strips[T](c.rows); strips > 0; strips-- {
			rows := (c.rows - i + strips - 1) / strips
			to := target[T]{&c.data[i*c.stride], c.stride, last}
			k.strip(rows, vectors)(n, a.from(i, block), right[T]{first: &b.data[block*b.stride], row: b.stride}, to, alpha, beta, 1)
			i += rows
		}
		beta = 1
	}
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
// for an n×n matrix A. SubstitutePanel reads no elements to the right of the blocks A_SU. It
// computes all rows of a strip before it writes the first.
func SubstitutePanel[T Float, M Matrix[T]](a, b M) {
	substitutePanel(view[T](of(a, false)), view[T](of(b, false)), false)
}

// SubstitutePanelTransposed is SubstitutePanel for Aᵀ, from the last strip to the first and with
// the rows U from the first of S on:
//
//	B_S ← A_USᵀ·B_U.
func SubstitutePanelTransposed[T Float, M Matrix[T]](a, b M) {
	substitutePanel(view[T](of(a, true)), view[T](of(b, false)), true)
}

func substitutePanel[T Float](a, b view[T], backwards bool) {
	k := best[T]()
	n := b.rows
	if b.cols != PanelWidth[T](b.cols) || b.stride != b.cols {
		panic(fmt.Sprintf("matmul: %d×%d with stride %d is no panel", b.rows, b.cols, b.stride))
	}
	check(a, n, b.cols, b)
	for i, strips := 0, Strips[T](n); i < strips; i++ {
		at, from, to := i, 0, n
		if backwards {
			at = strips - 1 - i
		}
		lo, hi := parallel.Share(n, strips, at), parallel.Share(n, strips, at+1)
		if backwards {
			from = lo
		} else {
			to = hi
		}
		c := target[T]{&b.data[lo*b.stride], b.stride, k.lanes}
		k.strip(hi-lo, b.cols/k.lanes)(to-from, a.from(lo, from), right[T]{first: &b.data[from*b.stride], row: b.stride}, c, 1, 0, 1)
	}
}
