// Package scratch keeps memory for intermediate results.
package scratch

import (
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
)

// Buffer is memory for the rows of a matrix. It grows when it has to and never shrinks, so that
// it costs nothing once its work has a steady size. The zero value is empty.
type Buffer[T dense.Float] struct {
	Data         []T
	cols, stride int
}

// Shape makes room for rows×cols elements. What the buffer held is lost.
func (b *Buffer[T]) Shape(rows, cols int) {
	b.cols, b.stride = cols, Stride[T](cols)
	b.Data = Resize(b.Data, rows*b.stride)
}

// Rows returns the first n rows, whatever they hold.
func (b *Buffer[T]) Rows(n int) dense.Matrix[T] {
	return dense.Matrix[T]{Rows: n, Cols: b.cols, Data: b.Data[:n*b.stride], Stride: b.stride}
}

// Stride returns the stride of rows of cols elements: an odd number of cache lines, so that a
// column of a matrix is spread over all sets of the caches.
func Stride[T dense.Float](cols int) int {
	const line = 64
	var x T
	perLine := line / int(unsafe.Sizeof(x))
	return ((cols+perLine-1)/perLine | 1) * perLine
}

// Resize returns a slice of n elements, x if that is large enough.
func Resize[E any](x []E, n int) []E {
	if cap(x) < n {
		return make([]E, n)
	}
	return x[:n]
}
