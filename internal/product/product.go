// Package product is the matrix product C = α·A·B + β·C, with A or B transposed
// if wanted, on row-major matrices with strides, for float32 and float64.
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

// Matrix is a row-major r×c view: element (i, j) is Data[i*Stride+j]. Any type of
// these fields will do; dense.Matrix is one.
type Matrix[T Float] interface {
	~struct {
		Rows, Cols int
		Data       []T
		Stride     int
	}
}

// view is a Matrix, or its transpose when trans is set.
type view[T Float] struct {
	rows, cols int
	data       []T
	stride     int
	trans      bool
}

func of[T Float, M Matrix[T]](m M, trans bool) view[T] {
	f := struct {
		Rows, Cols int
		Data       []T
		Stride     int
	}(m)
	v := view[T]{rows: f.Rows, cols: f.Cols, data: f.Data, stride: f.Stride, trans: trans}
	if trans {
		v.rows, v.cols = v.cols, v.rows
	}
	return v
}

// at returns element (i, j).
func (a *view[T]) at(i, j int) T {
	if a.trans {
		i, j = j, i
	}
	return a.data[i*a.stride+j]
}

const (
	rowGrain    = 64      // rows of C a piece of parallel work
	serialBelow = 1 << 16 // multiply-adds under which one goroutine is faster
	panel       = 64      // inner indices for which columns of B stay in cache
)

// Mul computes C = α·A·B + β·C, where A is m×k, B is k×n and C is m×n. C must not
// overlap A or B. When β = 0, C is written without being read. It panics if the
// shapes do not fit.
func Mul[T Float, M Matrix[T]](alpha T, a, b M, beta T, c M) {
	mul(alpha, of(a, false), of(b, false), beta, of(c, false))
}

// MulT computes C = α·A·Bᵀ + β·C, where A is m×k, B is n×k and C is m×n; all else
// is as for Mul.
func MulT[T Float, M Matrix[T]](alpha T, a, b M, beta T, c M) {
	mul(alpha, of(a, false), of(b, true), beta, of(c, false))
}

// TMul computes C = α·Aᵀ·B + β·C, where A is k×m, B is k×n and C is m×n; all else
// is as for Mul.
func TMul[T Float, M Matrix[T]](alpha T, a, b M, beta T, c M) {
	mul(alpha, of(a, true), of(b, false), beta, of(c, false))
}

func mul[T Float](alpha T, a, b view[T], beta T, c view[T]) {
	if a.cols != b.rows || c.rows != a.rows || c.cols != b.cols {
		panic(fmt.Sprintf("product: (%d×%d)·(%d×%d) does not fit %d×%d", a.rows, a.cols, b.rows, b.cols, c.rows, c.cols))
	}
	if float64(a.rows)*float64(a.cols)*float64(c.cols) < serialBelow {
		rows(alpha, a, b, beta, c, 0, c.rows)
		return
	}
	parallel.Rows(c.rows, rowGrain, func(lo, hi int) { rows(alpha, a, b, beta, c, lo, hi) })
}

// rows computes rows lo ≤ i < hi of C.
func rows[T Float](alpha T, a, b view[T], beta T, c view[T], lo, hi int) {
	k := a.cols
	buf := make([]T, min(k, panel)*c.cols)
	for i := lo; i < hi; i++ {
		row := c.data[i*c.stride:][:c.cols]
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
			row := c.data[i*c.stride:][:c.cols]
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

// pack copies rows p … p+depth−1 of B into buf, one after another.
func pack[T Float](buf []T, b view[T], p, depth int) {
	n := b.cols
	if !b.trans {
		for l := range depth {
			copy(buf[l*n:(l+1)*n], b.data[(p+l)*b.stride:][:n])
		}
		return
	}
	for j := range n {
		for l, v := range b.data[j*b.stride+p:][:depth] {
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
