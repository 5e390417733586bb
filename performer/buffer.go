package performer

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
)

// buffer is scratch memory for the rows of a matrix. It grows when it has to and
// never shrinks, so that it costs nothing once its work has a steady size.
type buffer[T dense.Float] struct {
	data         []T
	cols, stride int
}

// shape makes room for so many rows and columns. What the buffer held is lost.
func (b *buffer[T]) shape(rows, cols int) {
	b.cols, b.stride = cols, padded[T](cols)
	if need := rows * b.stride; cap(b.data) < need {
		b.data = make([]T, need)
	} else {
		b.data = b.data[:need]
	}
}

// rows returns the first n rows, whatever they hold.
func (b *buffer[T]) rows(n int) dense.Matrix[T] {
	return dense.Matrix[T]{Rows: n, Cols: b.cols, Data: b.data[:n*b.stride], Stride: b.stride}
}

// padded returns the stride of rows of cols elements: an odd number of cache
// lines, so that a column of a matrix is spread over all sets of the caches.
func padded[T dense.Float](cols int) int {
	const line = 64
	var x T
	perLine := line / int(unsafe.Sizeof(x))
	return ((cols+perLine-1)/perLine | 1) * perLine
}

// resize returns a slice of n elements, x if that is large enough.
func resize[E any](x []E, n int) []E {
	if cap(x) < n {
		return make([]E, n)
	}
	return x[:n]
}
