// Package product is the matrix product C = α·op(A)·op(B) + β·C on row-major
// operands with strides, for float32 and float64.
//
// It differs from gonum's Gemm in two promises. A zero in A does not hide a
// NaN or an Inf in B: 0·NaN is NaN. And element (i, j) of C is the same
// sequence of operations, over the inner index in ascending order, whatever
// the other rows and columns are, so that a product of some rows has the bits
// of those rows in the product of all.
package product

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/internal/parallel"
)

// Float is the set of element types.
type Float interface{ float32 | float64 }

// Operand is a row-major Rows×Cols view: element (i, j) is Data[i*Stride+j],
// or element (j, i) when Trans is set, which makes it Cols×Rows.
type Operand[T Float] struct {
	Rows, Cols int
	Data       []T
	Stride     int
	Trans      bool
}

// dims returns the shape of op(A).
func (a Operand[T]) dims() (r, c int) {
	if a.Trans {
		return a.Cols, a.Rows
	}
	return a.Rows, a.Cols
}

// at returns element (i, j) of op(A).
func (a *Operand[T]) at(i, j int) T {
	if a.Trans {
		i, j = j, i
	}
	return a.Data[i*a.Stride+j]
}

const (
	rowGrain    = 64      // rows of C a piece of parallel work
	serialBelow = 1 << 16 // multiply-adds under which one goroutine is faster
	panel       = 64      // inner indices for which columns of B stay in cache
)

// Mul computes C = α·A·B + β·C, where C is m×n, A is m×k and B is k×n as their
// Trans fields say. C.Trans must be false, and C must not overlap A or B. When
// β = 0, C is written without being read. It panics if the shapes do not fit.
func Mul[T Float](alpha T, a, b Operand[T], beta T, c Operand[T]) {
	m, k := a.dims()
	kb, n := b.dims()
	if k != kb || c.Rows != m || c.Cols != n || c.Trans {
		panic(fmt.Sprintf("product: (%d×%d)·(%d×%d) does not fit %d×%d", m, k, kb, n, c.Rows, c.Cols))
	}
	if m*n*k < serialBelow {
		rows(alpha, a, b, beta, c, 0, m)
		return
	}
	parallel.Rows(m, rowGrain, func(lo, hi int) { rows(alpha, a, b, beta, c, lo, hi) })
}

// rows computes rows lo ≤ i < hi of C.
func rows[T Float](alpha T, a, b Operand[T], beta T, c Operand[T], lo, hi int) {
	_, k := a.dims()
	buf := make([]T, min(k, panel)*c.Cols)
	for i := lo; i < hi; i++ {
		row := c.Data[i*c.Stride:][:c.Cols]
		if beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
	for p := 0; p < k; p += panel {
		depth := min(panel, k-p)
		pack(buf, b, p, depth)
		for i := lo; i < hi; i++ {
			row := c.Data[i*c.Stride:][:c.Cols]
			l := 0
			for ; l+4 <= depth; l += 4 {
				accumulate4(row, buf[l*len(row):(l+4)*len(row)],
					alpha*a.at(i, p+l), alpha*a.at(i, p+l+1), alpha*a.at(i, p+l+2), alpha*a.at(i, p+l+3))
			}
			for ; l < depth; l++ {
				accumulate(row, buf[l*len(row):(l+1)*len(row)], alpha*a.at(i, p+l))
			}
		}
	}
}

// pack copies rows p … p+depth−1 of op(B) into buf, one after another.
func pack[T Float](buf []T, b Operand[T], p, depth int) {
	_, n := b.dims()
	if !b.Trans {
		for l := range depth {
			copy(buf[l*n:(l+1)*n], b.Data[(p+l)*b.Stride:][:n])
		}
		return
	}
	for j := range n {
		for l, v := range b.Data[j*b.Stride+p:][:depth] {
			buf[l*n+j] = v
		}
	}
}

// accumulate adds a·x to y.
func accumulate[T Float](y, x []T, a T) {
	x = x[:len(y)]
	for j := range y {
		y[j] += a * x[j]
	}
}

// accumulate4 adds a₀·x₀ + … + a₃·x₃ to y in that order, where x holds four
// rows of len(y) elements.
func accumulate4[T Float](y, x []T, a0, a1, a2, a3 T) {
	n := len(y)
	x0, x1, x2, x3 := x[:n], x[n:][:n], x[2*n:][:n], x[3*n:][:n]
	for j := range y {
		v := y[j]
		v += a0 * x0[j]
		v += a1 * x1[j]
		v += a2 * x2[j]
		v += a3 * x3[j]
		y[j] = v
	}
}
