package matmul

import "unsafe"

// kernels are the innermost loops of one tier for one element type.
type kernels[T Float] struct {
	lanes int // elements of a vector
	rows  int // the most rows of a strip

	// strip computes C = α·A·B + β·C for so many rows and a panel of so many
	// vectors, of which the last has lanes columns in C. Steps are between
	// neighbours in a column and a row of A, and between rows of C.
	strip func(rows, vectors, k int, a []T, row, col int, b []T, c []T, stride int, alpha, beta T, lanes int)
	// packRows, if any, writes a panel of n rows, of which the last vector has lanes
	// columns in b.
	packRows func(n, vectors int, dst, b []T, stride, lanes int)
	// unpackRows, if any, is the reverse.
	unpackRows func(n, vectors int, b, src []T, stride, lanes int)
	// packSquares, if any, writes the transposes of count squares of lanes×lanes
	// elements of b, one to the right of the other, one below the other into dst, with
	// next elements between its rows.
	packSquares func(count int, dst []T, next int, b []T, stride int)
	// invert is InvertTriangle.
	invert func(n int, x []T, stride int, diag []T)
}

// genericLanes is the number of columns of a vector in pure Go.
const genericLanes = 16

// generic returns the kernels in pure Go.
func generic[T Float]() *kernels[T] {
	return &kernels[T]{lanes: genericLanes, rows: 1, strip: strip[T], invert: invert[T]}
}

// strip is the kernel in pure Go, for one row.
func strip[T Float](_, vectors, k int, a []T, _, col int, b []T, c []T, _ int, alpha, beta T, lanes int) {
	var sums [2 * genericLanes]T
	width := vectors * genericLanes
	y := sums[:width]
	l := 0
	for ; l+4 <= k; l += 4 {
		accumulate4(y, b[l*width:(l+4)*width], a[l*col], a[(l+1)*col], a[(l+2)*col], a[(l+3)*col])
	}
	for ; l < k; l++ {
		accumulate(y, b[l*width:(l+1)*width], a[l*col])
	}
	c = c[:(vectors-1)*genericLanes+lanes]
	if beta == 0 {
		for j := range c {
			c[j] = alpha * y[j]
		}
		return
	}
	for j, v := range c {
		c[j] = beta*v + alpha*y[j]
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

// best returns the kernels of the highest tier.
func best[T Float]() *kernels[T] {
	if size[T]() == 4 {
		return (*kernels[T])(unsafe.Pointer(best32))
	}
	return (*kernels[T])(unsafe.Pointer(best64))
}
